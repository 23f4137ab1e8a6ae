import autocannon from 'autocannon';

/** One run of load, as a process of its own so that its cost is told apart. Arguments: url key connections seconds. */
const [url = '', key = '', connections = '64', seconds = '5'] = process.argv.slice(2);
const prompt = 'Explain what a signed receipt proves and what it does not. '.repeat(17);
const result = await autocannon({
  url: `${url}/chat/completions`,
  method: 'POST',
  connections: Number(connections),
  duration: Number(seconds),
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'bench', messages: [{ role: 'user', content: prompt }] }),
});
const { requests, latency, non2xx, errors } = result;
process.send?.({
  total: requests.total,
  perSecond: requests.average,
  p50: latency.p50,
  p99: latency.p99,
  mean: latency.average,
  failed: non2xx + errors,
});
process.disconnect?.();
