// The playground, loaded when a visitor turns to it. Runs what is filled in, in one model or in two beside each other, and shows answers as they come. What is typed and answered is
// in this page alone. Texts of models are written as text and never as markup.

const form = document.getElementById('playground-form');
const template = document.getElementById('outcome');
const outcomes = document.getElementById('outcomes');
const [submit, stop] = [form.querySelector('[type=submit]'), form.querySelector('[data-stop]')];
const { base, run: runAt, url } = form.dataset;
const SHOWN_CHARS_MAX = Number(template.dataset.shown);
/** More than the largest answer that the gateway passes on: a browser need not hold what never ends. */
const ANSWER_CHARS_MAX = 32_000_000;
/** What each run is made from and told by; it is the server's own code. */
const { bodyOf, codeOfBody } = await import(form.dataset.code);
const { figure, showReceipt } = await import(template.dataset.receiptScript);

/** What is typed, for the model of the first column or the second. */
const fieldsOf = (prefix = '') => {
  const texts = Object.fromEntries(new FormData(form));
  return {
    ...texts,
    model: texts[`${prefix}model`],
    region: texts[`${prefix}region`],
    stream: form.stream.checked,
  };
};

const showCode = () => {
  const made = bodyOf(fieldsOf());
  if (made.body === undefined) return;
  for (const { language, code } of codeOfBody(url, made.body)) {
    document.getElementById(`code-${language}`).textContent = code;
  }
};
form.addEventListener('input', showCode);
showCode();

/** The run of the page; undefined while nothing runs. */
let running;
stop.addEventListener('click', () => running?.abort());
// One model that is left behind runs on for no reader.
addEventListener('pagehide', () => running?.abort());
/** Runs what is filled in; nothing while something runs. */
export const runAll = async () => {
  if (running !== undefined) return;
  running = new AbortController();
  submit.disabled = true;
  stop.hidden = false;
  stop.focus();
  const second = form['second-model'].value.trim() === '' ? [] : [fieldsOf('second-')];
  const columns = [fieldsOf(), ...second].map((fields) => [columnFor(fields), fields]);
  outcomes.replaceChildren(...columns.map(([{ section }]) => section));
  try {
    await Promise.all(columns.map(([at, fields]) => runOne(at, fields, running.signal)));
  } finally {
    const isFocused = document.activeElement === stop;
    running = undefined;
    submit.disabled = false;
    stop.hidden = true;
    if (isFocused) submit.focus();
  }
};

/** A new column, with its elements by the names that they have in `data-…`. */
const columnFor = ({ model, region }) => {
  const copy = template.content.cloneNode(true);
  const at = { section: copy.firstElementChild };
  for (const element of copy.querySelectorAll('*')) {
    for (const name of Object.keys(element.dataset)) at[name] = element;
  }
  at.model.textContent = model;
  at.section.setAttribute('aria-label', model);
  at.region.textContent = region;
  return at;
};

const tell = ({ status }, tone, text) => {
  status.className = `badge ${tone}`;
  status.textContent = text;
};

const runOne = async (at, fields, signal) => {
  const made = bodyOf(fields);
  if (made.body === undefined) return fail(at, { message: made.problem });
  const request = JSON.stringify(made.body);
  const answer = newAnswer(at);
  try {
    const reply = await fetch(runAt, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-docket-form': form.elements.form.value },
      body: request,
      signal,
      cache: 'no-store',
      redirect: 'error',
    });
    name(at, reply);
    if (!reply.ok) return await refused(at, reply);
    at.region.textContent = reply.headers.get('x-region') ?? fields.region;
    tell(at, 'plain', 'Answering…');
    await read(answer, reply);
    if (answer.error !== undefined)
      return await fail(at, { status: 'Broken off', ...answer.error });
    tell(at, 'good', 'answered');
  } catch (error) {
    if (signal.aborted) {
      tell(at, 'plain', 'Stopped');
      at.more.hidden = false;
      at.more.textContent = 'What ran until then counts, and has its receipt under Requests.';
    } else {
      await fail(at, {
        message:
          error instanceof TypeError
            ? 'The service was not reached, or broke the connection. Try it again.'
            : error.message,
      });
    }
  } finally {
    answer.draw();
    showCounts(at, answer);
  }
  if (answer.receipt !== undefined) await showProof(at, answer, request);
};

/** Names the request, once it is known. */
const name = (at, { headers }) => {
  const id = headers.get('x-request-id');
  if (id === null) return;
  at.requestId = id;
  for (const link of [at.request, at.requestLink]) {
    link.href = `${base}/requests?find=${encodeURIComponent(id)}`;
    link.textContent = id;
  }
  at.problemRequest.hidden = false;
  at.named.hidden = false;
};

/** Shows why nothing ran. A page comes in place of JSON where the request was refused before it was read. */
const refused = async (at, reply) => {
  const text = await reply.text();
  let error = {};
  try {
    ({ error } = JSON.parse(text));
  } catch {
    error = {
      message: reply.status === 429 ? 'Too many requests. Wait a little.' : 'Try it again.',
    };
  }
  await fail(at, { status: String(reply.status), ...error });
};

const fail = async (at, { status = '', code, title = '', message = '' }) => {
  tell(at, 'bad', 'failed');
  at.problem.hidden = false;
  at.problemStatus.textContent = [status, title].filter((text) => text !== '').join(' ');
  at.problemMessage.textContent = message;
  if (!/^[a-z_]{1,64}$/.test(code ?? '')) return;
  at.problemCode.hidden = false;
  at.problemCode.href = `/docs#error-${code.replaceAll('_', '-')}`;
  at.problemCode.textContent = code;
  const hint = await forScript(`${base}/playground/errors/${code}/advice.json`);
  at.problemAdvice.textContent = hint?.advice ?? '';
};

/** What the page asks beside; undefined where it cannot be had. */
const forScript = async (address) => {
  try {
    const reply = await fetch(address, { cache: 'no-store', redirect: 'error' });
    return reply.ok ? await reply.json() : undefined;
  } catch {
    return undefined;
  }
};

/** An answer as it comes. */
const newAnswer = (at) => {
  const begun = performance.now();
  const shown = document.createTextNode('');
  at.answer.append(shown);
  let waits = false;
  const answer = {
    /** All that came, as it came: the receipt covers it. */
    text: '',
    words: '',
    calls: [],
    usage: undefined,
    receipt: undefined,
    error: undefined,
    firstMs: undefined,
    allMs: undefined,
    /** Draws what has come, once for all that comes until then. */
    drawSoon: () => {
      if (waits) return;
      waits = true;
      requestAnimationFrame(() => {
        waits = false;
        answer.draw();
      });
    },
    draw: () => {
      const { words, calls } = answer;
      if (shown.length < SHOWN_CHARS_MAX)
        shown.appendData(words.slice(shown.length, SHOWN_CHARS_MAX));
      const more = words.length - SHOWN_CHARS_MAX;
      if (more > 0) {
        at.more.hidden = false;
        at.more.textContent = `And ${more} characters more.`;
      }
      at.callsPlace.hidden = calls.length === 0;
      if (calls.length > 0)
        at.calls.textContent = JSON.stringify(calls, null, 2).slice(0, SHOWN_CHARS_MAX);
    },
    since: () => performance.now() - begun,
  };
  return answer;
};

/** Reads an answer to its end, whole or as a stream. */
const read = async (answer, reply) => {
  const isStream = /^text\/event-stream\b/.test(reply.headers.get('content-type') ?? '');
  const decoder = new TextDecoder();
  const reader = reply.body.getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    const piece = decoder.decode(value, { stream: !done });
    // It is not looked into until all of it is there: that would copy all of it for each piece.
    answer.text += piece;
    if (answer.text.length > ANSWER_CHARS_MAX)
      throw new Error('The answer is too long for a page.');
    if (isStream) rest = takeLines(answer, rest + piece);
    if (done) break;
  }
  answer.allMs = answer.since();
  if (!isStream) take(answer, JSON.parse(answer.text), 'message');
};

/** Takes the lines of a stream that are whole; returns what is left of the last one. */
const takeLines = (answer, text) => {
  const lines = text.split('\n');
  const rest = lines.pop();
  for (const line of lines)
    if (line.startsWith('data: {')) take(answer, JSON.parse(line.slice('data: '.length)), 'delta');
  return rest;
};

/** Takes a chunk of a stream, or a whole answer. */
const take = (answer, { choices, usage, receipt, error }, part) => {
  const said = choices?.[0]?.[part] ?? {};
  if (typeof said.content === 'string' && said.content !== '') {
    answer.firstMs ??= answer.since();
    answer.words += said.content;
  }
  for (const call of said.tool_calls ?? []) takeCall(answer, call);
  answer.usage = usage ?? answer.usage;
  answer.receipt = receipt ?? answer.receipt;
  answer.error = error ?? answer.error;
  answer.drawSoon();
};

/** Tools that one answer calls, at most. */
const CALLS_MAX = 128;

/** Calls come in pieces, by their place. */
const takeCall = (answer, { index, id, function: piece = {} }) => {
  const place = Number.isInteger(index) ? index : answer.calls.length;
  if (place < 0 || place >= CALLS_MAX) return;
  answer.firstMs ??= answer.since();
  answer.calls[place] ??= { id, name: '', arguments: '' };
  const call = answer.calls[place];
  call.name += piece.name ?? '';
  call.arguments += piece.arguments ?? '';
};

const seconds = (ms) => [
  ms < 1000 ? String(Math.round(ms)) : (ms / 1000).toFixed(2),
  ms < 1000 ? 'ms' : 's',
];

const showCounts = (at, { firstMs, allMs, usage }, cost) => {
  const { prompt_tokens: input, completion_tokens: output } = usage ?? {};
  at.counts.replaceChildren(
    ...[
      firstMs !== undefined && form.stream.checked && ['To first token', ...seconds(firstMs)],
      allMs !== undefined && ['In all', ...seconds(allMs)],
      Number.isInteger(input) && ['Tokens in', String(input)],
      Number.isInteger(output) && ['Tokens out', String(output)],
      cost != null && ['Cost', ...cost.split(' ').toReversed()],
    ]
      .filter((shown) => shown !== false)
      .map((shown) => figure(...shown)),
  );
};

/** Shows the receipt, checks it, and asks what the request cost, which is on no receipt. */
const showProof = async (at, answer, request) => {
  const id = String(answer.receipt.id).slice(-64).split('/').at(-1);
  at.links.hidden = false;
  at.toReceipt.href = `${base}/receipts/${encodeURIComponent(id)}`;
  const { verifier, scales } = template.dataset;
  await showReceipt(at, answer.receipt, { text: answer.text, request, verifier, scales });
  const known = await forScript(`${base}/playground/receipts/${encodeURIComponent(id)}/cost.json`);
  showCounts(at, answer, known?.cost);
};
