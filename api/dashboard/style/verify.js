// Checks what the visitor chose with the code of `docket verify`, in this browser. Nothing of it is sent. What has to be asked
// for, a receipt by its id or a record by its digest, is asked for by a click that says so.

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

const textIn = async (file) => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
  } catch (error) {
    throw new Error(`${file.name} is not UTF-8; save it as UTF-8.`, { cause: error });
  }
};

const trustOf = async () => {
  if (form.keys.value === 'own') {
    const [file] = form.did.files;
    if (file === undefined) throw new Error('Choose the did.json first.');
    return { didJson: await textIn(file), source: `${file.name}, which you chose`, isChosen: true };
  }
  const { didJson, kept } = await published;
  const asOf = kept === null ? '' : `, as this browser kept it (${kept})`;
  return { didJson, source: location.host + DID + asOf, isChosen: true };
};

/** Files of this site that a session may have, besides receipts. */
const OF_SESSION = /^\/dashboard\/[\w-]+\/(?:exports\/[\w-]+\/pack\.zip|ledger\/checkpoint\.txt)$/;
/** The page of an audit log, or a file of it. */
const AUDIT_LOG = /^\/dashboard\/[\w-]+\/audit-log(?=$|[./])/;
const SIGN_IN = 'Sign in to the dashboard in this browser';
const HOW = `${SIGN_IN}, or give a key with the scope service:read.`;
const BY_SESSION = { credentials: 'same-origin' };

/** The path of an address of this site; undefined for what is no address. */
const pathIn = (asked) => {
  if (!/^(?:https?:\/\/|\/)/.test(asked)) return undefined;
  const { host, pathname } = new URL(asked, location.href);
  if (host !== location.host && host !== form.dataset.host) {
    throw new Error(
      `This page asks its own site alone. Fetch it from ${host}, and choose the file.`,
    );
  }
  return pathname;
};

/** How an id or an address is asked for: with the key where one is given, else with the session of this browser. */
const wayTo = (asked, key) => {
  let id = asked;
  const path = pathIn(asked);
  if (path !== undefined) {
    if (OF_SESSION.test(path)) return [path, BY_SESSION];
    id = /\/receipts\/([^/]+)(?:\/receipt\.json)?$/.exec(path)?.[1];
    if (id === undefined) {
      throw new Error(
        'That is not the address of a receipt, a pack, a checkpoint or an audit log.',
      );
    }
  }
  const name = encodeURIComponent(id);
  if (key === '') return [`/dashboard/receipts/${name}/receipt.json`, BY_SESSION];
  const headers = { authorization: `Bearer ${key}` };
  return [`/v1/receipts/${name}`, { headers, credentials: 'omit' }];
};

/** Undefined where there is none. */
const fetched = async ([path, how]) => {
  const reply = await fetch(path, { ...how, cache: 'no-store', referrerPolicy: 'no-referrer' });
  // Without a session the dashboard leads to its sign-in.
  if (reply.redirected || reply.status === 401 || reply.status === 403) {
    throw new Error(
      `It is shown to the organisation whose it is. ${/\/receipts\//.test(path) ? HOW : `${SIGN_IN}.`}`,
    );
  }
  if (reply.status === 404) return undefined;
  if (!reply.ok) throw new Error(`This site answered ${reply.status}. Try it again.`);
  return { name: path.split('/').at(-1), blob: await reply.blob() };
};

/** What is at an id or an address. @param onlyHead of an audit log, whose entries were chosen */
const fetchedAll = async (asked, onlyHead) => {
  const log = AUDIT_LOG.exec(pathIn(asked) ?? '')?.[0];
  const ways =
    log === undefined
      ? [wayTo(asked, form.key.value.trim())]
      : // The entries last, so that they reach as far as the heads that were signed.
        ['/anchor.json', '/checkpoint.txt', ...(onlyHead ? [] : ['.json'])].map((file) => [
          log + file,
          BY_SESSION,
        ]);
  const found = [];
  for (const way of ways) found.push(await fetched(way));
  const there = found.filter((file) => file !== undefined);
  if (there.length === 0) {
    const how = log === undefined ? HOW : `${SIGN_IN}.`;
    throw new Error(`There is nothing of that name here that is yours. ${how}`);
  }
  return there;
};

/** An audit log whose head was not chosen with it is compared with the one that this site has. */
const isAuditLog = async (file) => {
  return /"object"\s*:\s*"audit_log_entry"/.test(await file.blob.slice(0, 4096).text());
};

/** What is to be checked: chosen, pasted, or asked for by its id. */
const given = async () => {
  const chosen = [...form.file.files].map((file) => ({ name: file.name, blob: file }));
  const asked = form.asked.value.trim();
  if (chosen.length > 0) {
    const isOfLog = asked !== '' && AUDIT_LOG.test(pathIn(asked) ?? '');
    if (!isOfLog || !(await Promise.all(chosen.map(isAuditLog))).every(Boolean)) return chosen;
    return [...chosen, ...(await fetchedAll(asked, true))];
  }
  const pasted = form.text.value.trim();
  if (pasted !== '') return [{ name: 'what was pasted', blob: new Blob([`${pasted}\n`]) }];
  if (asked !== '') return fetchedAll(asked, false);
  throw new Error('Choose a file, paste a receipt, or give an id.');
};

const bytesOf = async (blob) => new Uint8Array(await blob.arrayBuffer());

/** Finds the record that a receipt of this site names, by a click alone; of other issuers the verifier asks for none. */
const finder = (verifier, didJson, { mayAsk, isLast }) => {
  const ask = verifier.publishedDerivations(didJson);
  return async (name) => {
    if (mayAsk || !isOwn(name.issuer, didJson)) return ask(name);
    if (isLast()) {
      at('record-digest').textContent = name.digest;
      at('record').hidden = false;
    }
    return { missing: `${location.host} is asked for it by the button below, and not before` };
  };
};

const isOwn = (issuer, didJson) => {
  try {
    return JSON.parse(didJson).id === issuer;
  } catch {
    return false;
  }
};

const ZIP = [0x50, 0x4b];
/** What the verdict in sight is of. */
let files = [];

/** What is checked at once has no bar. */
const showProgress = (done, total) => {
  at('bar').hidden = false;
  at('bar').max = total;
  at('bar').value = done;
};

/** The bytes of what was chosen to be compared; undefined for nothing. */
const beside = ({ files: [file] }) => file && bytesOf(file);

const policyGiven = async () => {
  const [file] = form.policy.files;
  return file && { witnessPolicy: { content: await bytesOf(file), source: file.name } };
};

const isPack = async ({ blob }) => {
  const head = await bytesOf(blob.slice(0, 2));
  return ZIP.every((byte, i) => head[i] === byte);
};

const judge = async ({ mayAsk, isLast }) => {
  const onProgress = (done, total) => {
    if (isLast()) showProgress(done, total);
  };
  const verifier = await loading;
  at('progress').textContent = 'Checking…';
  at('record').hidden = true;
  at('sampling').hidden = true;
  at('drawn').hidden = true;
  const trust = await trustOf();
  if (!mayAsk) files = await given();
  const [{ name, blob }] = files;
  if (files.length === 1 && (await isPack(files[0]))) {
    if (form.answer.files.length + form.request.files.length > 0) {
      throw new Error('An answer or a request is compared with one receipt, not with a pack.');
    }
    const options = { file: name, trust, ...(await policyGiven()), onProgress };
    const judgement = await verifier.verifyPack(blob, options);
    if (isLast()) offerSample(blob, options, judgement);
    return judgement;
  }
  if (form.policy.files.length > 0) {
    throw new Error('A witness policy is for a pack, and this is none.');
  }
  const { didJson } = await published.catch(() => ({ didJson: '' }));
  const chosen = await Promise.all(
    files.map(async (file) => ({ name: file.name, content: await bytesOf(file.blob) })),
  );
  return verifier.verifyFiles(chosen, {
    trust,
    derivation: finder(verifier, didJson, { mayAsk, isLast }),
    answer: await beside(form.answer),
    request: await beside(form.request),
    onProgress,
  });
};

/** Draws of a pack that holds, until another is checked. */
let draw = async () => {};
const offerSample = (blob, options, { verdict }) => {
  at('sampling').hidden = verdict !== 'good' && verdict !== 'intact';
  draw = async () => {
    const run = runs;
    const { size, seed } = at('sample');
    const how = { size: Number(size.value), seed: seed.value.trim() };
    const verifier = await loading;
    const { drawn, judgement } = await verifier.samplePack(blob, how, options);
    // What was drawn of a pack does not stand below the verdict on another.
    if (run !== runs) return;
    if (drawn === undefined) show(judgement);
    else showSample(drawn);
  };
};

const TABLE = ['input_tokens', 'output_tokens', 'energy_kwh', 'gwp_kgco2e'];
const showSample = ({ seed, kinds, rows, table, page }) => {
  const counted = (what) => kinds.reduce((sum, kind) => sum + kind[what], 0);
  const ofKinds = kinds.map(({ region, tier, dataQuality, receipts, drawn }) => [
    [region, tier || 'no tier', dataQuality || 'no estimate'].join(', '),
    `${drawn} of ${receipts}`,
  ]);
  const all = { seed, drawn: `${rows.length} of ${counted('receipts')} receipts that count` };
  at('drawn-facts').replaceChildren(...factsOf({ ...all, ...Object.fromEntries(ofKinds) }));
  at('drawn-rows').replaceChildren(
    ...rows.map(({ row, rank }) => {
      const line = document.createElement('tr');
      const { index, receipt, startedAt, model, region, tier, columns } = row;
      const figures = TABLE.map((name) => columns[name] || '-');
      for (const text of [index, receipt, startedAt, model, region, tier, ...figures, rank]) {
        line.append(Object.assign(document.createElement('td'), { textContent: text }));
      }
      return line;
    }),
  );
  for (const [id, text, type] of [
    ['workpaper-csv', table, 'text/csv'],
    ['workpaper-html', page, 'text/html'],
  ]) {
    if (at(id).href !== '') URL.revokeObjectURL(at(id).href);
    at(id).href = URL.createObjectURL(new Blob([text], { type }));
  }
  at('drawn').hidden = false;
};
at('print').addEventListener('click', () => print());
at('sample').addEventListener('submit', async (event) => {
  event.preventDefault();
  at('drawing').textContent = 'Drawing…';
  at('drawn').hidden = true;
  try {
    await draw();
    at('drawing').textContent = '';
  } catch (error) {
    at('drawing').textContent = error.message;
  }
  at('bar').hidden = true;
});

let runs = 0;
/** Of checks that overlap the last that was asked for has the verdict. */
const check = async (mayAsk) => {
  runs += 1;
  const run = runs;
  const isLast = () => run === runs;
  const tell = await judge({ mayAsk, isLast }).then(
    (verdict) => () => show(verdict),
    (error) => () => cannot(error.message),
  );
  if (!isLast()) return;
  tell();
  at('bar').hidden = true;
  at('progress').textContent = '';
};

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void check(false);
});
at('ask-record').addEventListener('click', () => check(true));

/** What cannot be decoded is shown as it is. */
const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Pages of this site lead here filled in: by an address behind the #, or by an answer that the console has left. */
const asked = decoded(location.hash.slice(1));
if (asked !== '') {
  form.asked.value = asked;
  // What is left to do is below what fills a screen.
  form.querySelector('[type=submit]').focus();
}
const fileWith = (text, name) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name));
  return transfer.files;
};
const left = sessionStorage.getItem('to-verify');
if (left !== null) {
  sessionStorage.removeItem('to-verify');
  const { answer, request } = JSON.parse(left);
  form.file.files = fileWith(answer, 'answer.json');
  if (request !== undefined) form.request.files = fileWith(request, 'request.json');
}

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
