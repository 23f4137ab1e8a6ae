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
    if (receipt !== undefined) await showReceipt(at, receipt, { text, request: request.body });
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

/** @param text the whole answer, and `request`, the body that was sent: both are compared with the receipt's digests */
const showReceipt = async (at, receipt, { text: answer, request }) => {
  at.receipt.hidden = false;
  // The page that opens takes it from there, and out of there.
  at.toVerify.addEventListener('click', () => {
    sessionStorage.setItem('to-verify', JSON.stringify({ answer, request }));
  });
  at.receiptId.textContent = receipt.id;
  at.receiptTier.textContent = `tier ${receipt.tier}`;
  const results = receipt.measurement?.result ?? [];
  at.figures.hidden = results.length === 0;
  if (receipt.proof === undefined) {
    at.verdict.textContent = receipt.explanation ?? 'It is not signed yet.';
    return;
  }
  try {
    const [{ scaleFor, QUANTITY_TITLES }, verifier, didJson] = await Promise.all([
      import(template.dataset.scales),
      import(template.dataset.verifier),
      fetch('/.well-known/did.json').then((reply) => reply.text()),
    ]);
    at.figures.replaceChildren(
      ...results.map(({ quantityKind, value, lower, upper }) => {
        const { unit, text } = scaleFor(quantityKind, value);
        return figure(
          QUANTITY_TITLES[quantityKind],
          text(value),
          unit,
          `[${text(lower)}–${text(upper)}]`,
        );
      }),
    );
    const source = `${location.host}/.well-known/did.json`;
    const judge = async (derivation) => {
      const { verdict, text } = await verifier.verifyReceipt(answer, {
        file: 'receipt',
        trust: { didJson, source, isChosen: true },
        request,
        derivation,
      });
      const [tone, words] = VERDICTS[verdict];
      at.verdict.className = `badge ${tone}`;
      at.verdict.textContent = words;
      at.checks.textContent = text;
    };
    // Asked for by its digest, and by the click alone.
    at.ask.addEventListener('click', () => {
      at.record.hidden = true;
      void judge(verifier.publishedDerivations(didJson));
    });
    await judge(async ({ digest }) => {
      at.recordDigest.textContent = digest;
      at.record.hidden = false;
      return { missing: `${location.host} is asked for it by the button below, and not before` };
    });
  } catch (error) {
    at.verdict.className = 'badge warn';
    at.verdict.textContent = 'The verifier could not be loaded';
    at.checks.textContent = error.message;
  }
};

const VERDICTS = {
  good: ['good', 'Verified in this browser, by the keys that this service publishes'],
  bad: ['bad', 'Does not verify'],
  cannot_judge: ['warn', 'Cannot be judged here'],
};

const figure = (title, value, unit, interval) => {
  const place = document.createElement('div');
  const [term, data] = [document.createElement('dt'), document.createElement('dd')];
  term.className = 'soft';
  term.textContent = title;
  const parts = [
    ['value', value],
    ['unit', ` ${unit}`],
    ['soft small interval', interval],
  ];
  for (const [name, text] of parts) {
    const part = document.createElement('span');
    part.className = name;
    part.textContent = text;
    data.append(part);
  }
  place.append(term, data);
  return place;
};
