import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseFault } from '#embedded/sandbox/faults.ts';
import { QUESTION, type RunningSandbox, runSandbox } from './running-sandbox.ts';

let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = await runSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

type Body = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;
/** Of vLLM, unknown to the SDK's types. */
const TO_THE_END = { ignore_eos: true };
const vendor = (fault: string | object) => ({ sandbox_fault: fault });

function ask(fault: string | object, body: Body = {}) {
  return sandbox.client.chat.completions.create({
    model: 'm',
    messages: QUESTION,
    max_tokens: 12,
    ...body,
    ...vendor(fault),
  });
}

/** The bytes of a stream, and whether it came to its end. */
async function rawStream(fault: string | object, body: object = {}) {
  const response = await fetch(`${sandbox.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model: 'm',
      messages: QUESTION,
      stream: true,
      max_tokens: 8,
      ignore_eos: true,
      seed: 4,
      ...body,
      ...vendor(fault),
    }),
  });
  const chunks: Uint8Array[] = [];
  let broken = false;
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk as Uint8Array);
  } catch {
    broken = true;
  }
  return { response, text: Buffer.concat(chunks).toString('utf8'), pieces: chunks.length, broken };
}

async function contentOf(fault: string | object): Promise<string> {
  let text = '';
  const stream = await sandbox.client.chat.completions.create({
    model: 'm',
    messages: QUESTION,
    stream: true,
    max_tokens: 8,
    seed: 4,
    ...TO_THE_END,
    ...vendor(fault),
  });
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

describe('the fault language', () => {
  it('reads text and JSON alike, and refuses what it does not know', () => {
    const fault = { id: 'a', status: 503, 'retry-after': 2, 'fail-first': 1, ping: true };
    expect(parseFault('id=a; status=503; retry-after=2; fail-first=1; ping')).toEqual(fault);
    expect(parseFault(JSON.stringify(fault))).toEqual(fault);
    expect(parseFault(fault)).toEqual(fault);
    for (const wrong of [
      'statuz=503',
      'status=abc',
      'status=200',
      'cut=maybe',
      'fail-first=1',
      '{',
      'ping=7',
    ]) {
      expect(() => parseFault(wrong), wrong).toThrow();
    }
  });

  it('is answered with 400 when it is wrong', async () => {
    await expect(ask('nonsense=1')).rejects.toMatchObject({ status: 400, param: 'sandbox_fault' });
  });

  it('is read from the header too', async () => {
    const options = { headers: { 'x-sandbox-fault': 'status=418' } };
    const call = sandbox.client.chat.completions.create(
      { model: 'm', messages: QUESTION },
      options,
    );
    await expect(call).rejects.toMatchObject({ status: 418 });
  });

  it('can apply to every call until it is taken back', async () => {
    await fetch(`${sandbox.url}/sandbox/fault`, { method: 'PUT', body: 'status=500' });
    const plain = () => sandbox.client.chat.completions.create({ model: 'm', messages: QUESTION });
    await expect(plain()).rejects.toMatchObject({ status: 500 });
    await fetch(`${sandbox.url}/sandbox/fault`, { method: 'DELETE' });
    await expect(plain()).resolves.toBeDefined();
  });
});

describe('failing calls', () => {
  it('fail as often as they are told for one id, then go well', async () => {
    const fault = 'id=recovers; status=503; retry-after=0; fail-first=2';
    await expect(ask(fault)).rejects.toMatchObject({ status: 503 });
    await expect(ask(fault)).rejects.toMatchObject({ status: 503 });
    await expect(ask(fault)).resolves.toBeDefined();
    const { calls } = await sandbox.stats('?id=recovers');
    expect(calls.map((call) => call.state)).toEqual(['finished', 'faulted', 'faulted']);
  });

  it('carry Retry-After, and a rate limit has the code of one', async () => {
    const error = await ask('status=429; retry-after=7').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('7');
  });

  it('break the connection before the headers, or in the middle of a body', async () => {
    await expect(ask('cut=reset')).rejects.toBeInstanceOf(OpenAI.APIConnectionError);
    await expect(ask('cut=close; cut-after=1')).rejects.toThrow();
    await expect(ask('malformed-after=0')).rejects.toThrow();
  });

  it('wait as long as they are told before the headers', async () => {
    const startedAt = performance.now();
    await ask('stall=150');
    expect(performance.now() - startedAt).toBeGreaterThan(145);
  });
});

describe('spoilt streams', () => {
  it('break off after the number of frames that is asked for', async () => {
    for (const how of ['reset', 'close'] as const) {
      const { text, broken } = await rawStream(`cut=${how}; cut-after=3`);
      expect(broken).toBe(true);
      if (how === 'close') expect(text.match(/^data: /gm)).toHaveLength(3);
    }
    const clean = await rawStream('cut=end; cut-after=3');
    expect(clean.broken).toBe(false);
    expect(clean.text.match(/^data: /gm)).toHaveLength(3);
    expect(clean.text).not.toContain('[DONE]');
  });

  it('send an error object as their first frame, or later', async () => {
    await expect(contentOf('error-first')).rejects.toThrow('failed while');
    const { text, response } = await rawStream('error-after=2');
    expect(response.status).toBe(200);
    expect(text.trimEnd().split('\n\n')).toHaveLength(3);
    expect(text).not.toContain('[DONE]');
  });

  it('hold the same events in every framing', async () => {
    const plain = await contentOf('');
    for (const fault of [
      'eol=crlf',
      'eol=cr',
      'multiline',
      'ping',
      'drip=1',
      'drip=7',
      'gzip',
      'gzip; drip=3',
      'huge-frame=300000',
      'eol=crlf; multiline; ping; drip=5',
    ]) {
      expect(await contentOf(fault), fault).toBe(plain);
    }
  });

  it('hold the same events when they arrive byte by byte, with characters split', async () => {
    const said = 'Der Leuchtturm 🌊 — 灯台 ✓';
    const { text, pieces } = await rawStream({ say: said, drip: 1 }, { max_tokens: 100 });
    const content = text
      .split('\n\n')
      .filter((frame) => frame.startsWith('data: {'))
      .map(
        (frame) =>
          (JSON.parse(frame.slice(6)) as OpenAI.ChatCompletionChunk).choices[0]?.delta.content ??
          '',
      );
    expect(content.join('')).toBe(said);
    expect(pieces).toBeGreaterThan(10);
  });

  it('leave out [DONE], finish reason or usage when they are told to', async () => {
    const usage = { stream_options: { include_usage: true } };
    expect((await rawStream('usage=none', usage)).text).not.toContain('usage');
    expect((await rawStream('usage=zero', usage)).text).toContain('"completion_tokens":0');
    expect((await rawStream('no-finish')).text).not.toMatch(/"finish_reason":"/);
    expect((await rawStream('no-done')).text).not.toContain('[DONE]');
    const html = await rawStream('content-type=text/html');
    expect(html.response.headers.get('content-type')).toBe('text/html');
  });

  it('break one frame and go on with the next', async () => {
    const { text } = await rawStream('malformed-after=2');
    const broken = text.split('\n\n').filter((frame) => {
      if (!frame.startsWith('data: {')) return false;
      try {
        JSON.parse(frame.slice(6));
        return false;
      } catch {
        return true;
      }
    });
    expect(broken).toHaveLength(1);
    expect(text).toContain('[DONE]');
  });

  it('report measured energy where they are told to', async () => {
    const usage = { stream_options: { include_usage: true } };
    const both = await rawStream('joules=12.5', usage);
    expect(both.response.headers.get('x-energy-joules')).toBe('12.5');
    expect(both.text).toContain('"energy_joules":12.5');
    const header = await rawStream('joules=3; joules-in=header', usage);
    expect(header.text).not.toContain('energy_joules');
    const answer = await ask('joules=4; joules-in=usage; cached=5');
    expect(answer.usage).toMatchObject({
      energy_joules: 4,
      prompt_tokens_details: { cached_tokens: 5 },
    });
  });

  it('return floats although base64 was asked for', async () => {
    const ask64 = {
      model: 'm',
      input: 'x',
      encoding_format: 'base64' as const,
      ...vendor('float-embeddings'),
    };
    const raw = await sandbox.client.embeddings.create(ask64);
    expect(Array.isArray(raw.data[0]?.embedding)).toBe(true);
  });
});

describe('the book of calls', () => {
  it('notes at once that a client leaves, streamed or not', async () => {
    for (const stream of [true, false]) {
      const id = `leaves-${stream}`;
      const leaving = new AbortController();
      const fault = stream ? { id, pace: 5 } : { id, stall: 60_000 };
      const call = sandbox.client.chat.completions
        .create(
          {
            model: 'm',
            messages: QUESTION,
            stream,
            ...vendor(fault),
          } as OpenAI.ChatCompletionCreateParams,
          { signal: leaving.signal },
        )
        .catch(() => undefined);
      await sandbox.stats(`?id=${id}&wait=running`);
      leaving.abort();
      const stats = await sandbox.stats(`?id=${id}&wait=aborted&timeout_ms=1000`);
      expect(stats.reached).toBe(true);
      expect(stats.calls).toHaveLength(1);
      await call;
    }
  });

  it('counts each call once, per model, and forgets when told', async () => {
    await fetch(`${sandbox.url}/sandbox/stats`, { method: 'DELETE' });
    await ask('id=once', { model: 'counted' });
    const stats = await sandbox.stats('?id=once&wait=finished');
    expect(stats.models['counted']).toMatchObject({ started: 1, finished: 1, in_flight: 0 });
    expect(stats.calls).toHaveLength(1);
    expect(JSON.stringify(stats)).not.toContain('lighthouse');
  });
});
