// Sends what the visitor fills in, from this page to this service, and shows the answer and its receipt.

/** In memory alone: it is in no storage, no cookie and no address, and gone with the page. */
let key = '';

const SHOWN_CHARS_MAX = 200_000;
const template = document.getElementById('outcome');
const keyFields = document.querySelectorAll('input[name=key]');

for (const section of document.querySelectorAll('.try')) {
  section.hidden = false;
  const form = section.querySelector('form');
  section.addEventListener('toggle', () => offerExamples(section, form), { once: true });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form, section.querySelector('[data-outcome]'));
  });
}
for (const field of keyFields) {
  field.addEventListener('input', () => {
    key = field.value.trim();
    for (const other of keyFields) if (other !== field) other.value = field.value;
  });
}
// A page that is kept for the way back keeps no key.
addEventListener('pagehide', () => {
  key = '';
  for (const field of keyFields) field.value = '';
});

/** The examples beside an operation fill its field, the first one at once. */
const offerExamples = (section, form) => {
  const examples = [...section.parentElement.querySelectorAll('[data-request]')];
  if (examples.length === 0) return;
  const fill = (example) => {
    form.body.value = example.querySelector('pre').textContent;
  };
  fill(examples[0]);
  const choices = form.querySelector('[data-examples]');
  choices.hidden = examples.length === 1;
  choices.append('Fill in: ');
  for (const example of examples) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'plain';
    button.textContent = example.dataset.request;
    button.addEventListener('click', () => fill(example));
    choices.append(button, ' ');
  }
};

/** The request that a form describes. @throws Error with what is wrong in it, in words */
const requestOf = (form) => {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = new Headers();
  for (const [name, value] of new FormData(form)) {
    const [place, own] = [name.slice(0, name.indexOf(':')), name.slice(name.indexOf(':') + 1)];
    if (place === 'path') path = path.replace(`{${own}}`, encodeURIComponent(value.trim()));
    if (value.trim() === '') continue;
    if (place === 'query') query.append(own, value.trim());
    if (place === 'header') headers.set(own, value.trim());
  }
  if (form.key !== undefined) {
    if (!/^[!-~]+$/.test(key)) throw new Error('A key is letters and digits: dkt_ and 38 of them.');
    headers.set('authorization', `Bearer ${key}`);
  }
  const request = { method: form.dataset.method, headers };
  if (form.body !== undefined && form.body.value.trim() !== '') {
    try {
      JSON.parse(form.body.value);
    } catch (error) {
      throw new Error(`The body is not JSON: ${error.message}`, { cause: error });
    }
    headers.set('content-type', 'application/json');
    request.body = form.body.value;
  }
  return [query.size === 0 ? path : `${path}?${query}`, request];
};

const send = async (form, place) => {
  const outcome = template.content.cloneNode(true);
  const at = Object.fromEntries(
    [...outcome.querySelectorAll('*')].flatMap((element) =>
      Object.keys(element.dataset).map((name) => [name, element]),
    ),
  );
  place.replaceChildren(outcome);
  const [submit, stop] = [form.querySelector('[type=submit]'), form.querySelector('[data-stop]')];
  const abort = new AbortController();
  const onStop = () => abort.abort();
  stop.addEventListener('click', onStop);
  submit.disabled = true;
  stop.hidden = false;
  const begun = performance.now();
  const took = () => {
    at.took.textContent ||= `${Math.round(performance.now() - begun)} ms`;
  };
  try {
    const [address, request] = requestOf(form);
    const reply = await fetch(address, {
      ...request,
      signal: abort.signal,
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
    });
    tell(at, reply.ok ? 'good' : 'bad', `${reply.status} ${reply.statusText}`.trim());
    at.headers.textContent = [...reply.headers]
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n');
    const { receipt, text } = await showAnswer(at, reply);
    took();
    if (receipt === undefined) return;
    const { showReceipt } = await import(template.dataset.receiptScript);
    const { verifier, scales } = template.dataset;
    await showReceipt(at, receipt, { text, request: request.body, verifier, scales });
  } catch (error) {
    const isStopped = abort.signal.aborted;
    tell(at, isStopped ? 'plain' : 'bad', isStopped ? 'Stopped' : 'Not sent, or not answered');
    at.problem.hidden = isStopped;
    at.problem.textContent =
      error instanceof TypeError
        ? 'The service was not reached, or broke the connection. Try it again.'
        : error.message;
  } finally {
    took();
    submit.disabled = false;
    stop.hidden = true;
    stop.removeEventListener('click', onStop);
  }
};

const tell = ({ status }, tone, text) => {
  status.className = `badge ${tone}`;
  status.textContent = text;
};

/** Shows an answer as it comes; returns its text, and the receipt in it, where there is one. */
const showAnswer = async (at, reply) => {
  const type = (reply.headers.get('content-type') ?? '').split(';')[0];
  if (!/json|^text\//.test(type)) {
    const file = await reply.blob();
    at.answer.textContent = `${type || 'no type'}, ${file.size} bytes`;
    if (file.size === 0) return {};
    at.save.hidden = false;
    const link = at.save.querySelector('a');
    link.href = URL.createObjectURL(file);
    link.download =
      /filename="([^"]+)"/.exec(reply.headers.get('content-disposition') ?? '')?.[1] ?? '';
    return {};
  }
  let text = '';
  const isStream = type === 'text/event-stream';
  const decoder = new TextDecoder();
  const reader = reply.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (isStream) at.answer.textContent = text;
  }
  const body = isStream ? undefined : parsed(text);
  const pretty = body === undefined ? text : JSON.stringify(body, null, 2);
  at.answer.textContent =
    pretty.length > SHOWN_CHARS_MAX
      ? `${pretty.slice(0, SHOWN_CHARS_MAX)}\n… and ${pretty.length - SHOWN_CHARS_MAX} characters more`
      : pretty;
  return { receipt: isStream ? inFrames(text) : receiptIn(body), text };
};

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The receipt of an answer, or an answer that is one. */
const receiptIn = (body) =>
  body?.receipt ??
  (body?.proof !== undefined && body.credentialSubject !== undefined ? body : undefined);

const inFrames = (text) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => parsed(line.slice('data: '.length))?.receipt)
    .findLast((receipt) => receipt !== undefined);
