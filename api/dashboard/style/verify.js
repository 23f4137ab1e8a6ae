// Checks what the visitor chose with the code of `docket verify`, in this browser. Nothing of it is sent: of the record that
// a receipt of this issuer names, the digest is asked for.

const at = (id) => document.getElementById(id);
const form = at('verify');

/** The tone and the word of each verdict, and what it means beyond what the verifier says. */
const WORDS = {
  good: ['good', 'Good.', ''],
  intact: [
    'warn',
    'Intact, issuer not proven.',
    ' That the keys are the issuer’s is for you to know. Choose a did.json that you fetched yourself to be sure.',
  ],
  bad: ['bad', 'Bad.', ''],
  cannot_judge: ['warn', 'Cannot be judged here.', ''],
};

/** Each fact beside its name, or below it on a phone. */
const factsOf = (facts) =>
  Object.entries(facts).map(([name, value]) => {
    const fact = document.createElement('span');
    fact.className = 'fact';
    for (const textContent of [`${name}  `, `${value ?? '-'}\n`]) {
      fact.append(Object.assign(document.createElement('span'), { textContent }));
    }
    return fact;
  });

/** What is to be said of a receipt's figures, which follow from the record that it names. */
const ofFigures = ({ derivation, figures }) => {
  if (typeof figures === 'string') return ` Its figures: ${figures}.`;
  if (typeof derivation !== 'string') return '';
  return ' Its figures were not computed again; why stands below, at “derivation record”.';
};

const show = ({ said, report }) => {
  const { verdict, headline, facts, details, closing } = said;
  const [tone, word, means] = WORDS[verdict];
  at('verdict').className = `note ${tone}`;
  at('verdict').querySelector('strong').textContent = word;
  const whose =
    verdict === 'good' && form.keys.value === 'ours'
      ? ` By the keys that ${location.host} publishes: that this site is the issuer’s is for you to know.`
      : '';
  const holds = verdict === 'good' || verdict === 'intact';
  at('verdict').querySelector('span').textContent =
    headline + (holds ? ofFigures(report) : '') + means + whose;
  at('checks').replaceChildren(...factsOf(facts));
  at('checks').hidden = Object.keys(facts).length === 0;
  at('stated').replaceChildren(...factsOf(details));
  at('details').hidden = Object.keys(details).length === 0;
  at('shows').textContent = closing.join(' ');
  at('result').hidden = false;
  at('result').focus();
};

const cannot = (headline) =>
  show({
    said: { verdict: 'cannot_judge', headline, facts: {}, details: {}, closing: [] },
    report: {},
  });

/** The first visitor of a process waits while it is bundled; the form can be filled in meanwhile. */
const loading = import(form.dataset.verifier);
at('progress').textContent = 'Loading the verifier…';
form.hidden = false;
const tellOfLoading = async () => {
  try {
    await loading;
  } catch (error) {
    cannot(`The verifier could not be loaded: ${error.message} Reload the page.`);
  }
  at('progress').textContent = '';
};
void tellOfLoading();

/** Fetched with the page, so that what follows needs no network. */
const DID = '/.well-known/did.json';
const published = fetch(DID, { cache: 'no-cache' }).then(async (reply) => ({
  didJson: await reply.text(),
  kept: reply.headers.get('x-kept'),
}));
published.catch(() => {});

/** What this page loads, now or with the first pack, is kept by the browser; offline.js gives it back. */
const keep = async () => {
  await loading;
  await navigator.serviceWorker.register('/assets/offline.js', { scope: '/verify' });
  const files = await (await fetch('/verify/files.json')).json();
  const loaded = performance.getEntriesByType('resource').map(({ name }) => new URL(name));
  const needed = ['/verify', '/verify/files.json', DID, ...files.map((name) => `/verify/${name}`)];
  const assets = loaded.filter(({ pathname }) => pathname.startsWith('/assets/'));
  const addresses = new Set(
    [...needed, ...assets].map((address) => new URL(address, location.origin).href),
  );
  const kept = await caches.open('verify');
  await kept.addAll([...addresses]);
  // Those of an earlier release.
  for (const { url } of await kept.keys()) if (!addresses.has(url)) await kept.delete(url);
  await navigator.serviceWorker.ready;
  at('kept').hidden = false;
};
// Without HTTPS there are none of these, and everything else works.
if ('serviceWorker' in navigator && navigator.onLine) keep().catch(() => {});

const trustOf = async () => {
  if (form.keys.value === 'own') {
    const [file] = form.did.files;
    if (file === undefined) throw new Error('Choose the did.json first.');
    return { didJson: await file.text(), source: `${file.name}, which you chose`, isChosen: true };
  }
  const { didJson, kept } = await published;
  const asOf = kept === null ? '' : `, as this browser kept it (${kept})`;
  return { didJson, source: location.host + DID + asOf, isChosen: true };
};

const ZIP = [0x50, 0x4b];

const judge = async () => {
  const verifier = await loading;
  at('progress').textContent = 'Checking…';
  const trust = await trustOf();
  const [file] = form.file.files;
  const pasted = form.text.value.trim();
  if (file === undefined && pasted === '') throw new Error('Choose a file, or paste a receipt.');
  const { didJson } = await published.catch(() => ({ didJson: '' }));
  // A verifier of the release before, which browsers keep for minutes, has none.
  const derivation = verifier.publishedDerivations?.(didJson);
  const [beside] = form.request.files;
  const request = beside && new Uint8Array(await beside.arrayBuffer());
  if (file === undefined) {
    return verifier.verifyReceipt(pasted, { file: 'receipt', trust, derivation, request });
  }
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (!ZIP.every((byte, i) => head[i] === byte)) {
    const source = new Uint8Array(await file.arrayBuffer());
    return verifier.verifyReceipt(source, { file: file.name, trust, derivation, request });
  }
  const onProgress = (done, total) => {
    at('progress').textContent = `${done} of ${total}`;
  };
  return verifier.verifyPack(file, { file: file.name, trust, onProgress });
};

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  try {
    show(await judge());
  } catch (error) {
    cannot(error.message);
  }
  at('progress').textContent = '';
});

for (const choice of form.querySelectorAll('[name=keys]')) {
  choice.addEventListener('change', () => {
    at('own-keys').hidden = form.keys.value !== 'own';
  });
}

for (const drop of form.querySelectorAll('.drop')) {
  drop.addEventListener('dragover', (event) => event.preventDefault());
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length === 0) return;
    drop.querySelector('input').files = event.dataTransfer.files;
    if (form.file.files.length > 0 || form.text.value.trim() !== '') form.requestSubmit();
  });
}
