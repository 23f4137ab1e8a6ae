/** `docket/verify` in Chromium, as the api serves it, says what `docket verify` says, word for word. */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { DrawnPack } from '#cli/auditing/drawn-pack.ts';
import { type Judgement, verifyPack } from '#cli/verify/library.ts';
import { derivationPath } from '#shared/packs/layout.ts';
import { startTamperLab } from '#test/packs/tamper-lab.ts';
import { demandsOf, forgeRow } from '#test/packs/forge-row.ts';
import { type Tampering, tamperings } from '#test/packs/tamper-rows.ts';
import { ForgedPack } from '#test/packs/tampering.ts';
import { openBrowser } from '#test/support/browser.ts';
import { chatBody, post } from '#test/support/calls.ts';
import { startCuttingProxy } from '#test/support/cutting-proxy.ts';
import { sample } from '#test/support/depth.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { joinProduct } from '#test/support/product.ts';
import { until } from '#test/support/until.ts';
import { signedReceipt } from '#test/support/signed-receipt.ts';

const [system, lab, browser] = await Promise.all([joinProduct(), startTamperLab(), openBrowser()]);
const didJson = readFileSync(lab.trust, 'utf8');
/** As the command calls keys that were named for a receipt, and for a pack. */
const trust = { didJson, source: `${lab.trust}, which you named`, isChosen: true };
const packTrust = { didJson, source: lab.trust };
let page: Page;
const violations: string[] = [];

beforeAll(async () => {
  page = await browser.newPage();
  page.on('console', (message) => {
    if (/Content.Security/.test(message.text())) violations.push(message.text());
  });
  // A page of ours, under the strictest policy that lets it run scripts of ours at all.
  await page.route(`${system.root}/a-page`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      headers: {
        'content-security-policy':
          "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'",
      },
      body: '<!doctype html><input type="file"><script type="module" src="/a-page.js"></script>',
    }),
  );
  await page.route(`${system.root}/a-page.js`, (route) =>
    route.fulfill({
      contentType: 'text/javascript',
      body: `import * as verifier from '/verify/docket-verify.js';
        window.verifier = verifier;
        window.dropped = () => document.querySelector('input').files[0];`,
    }),
  );
  await page.goto(`${system.root}/a-page`);
  await page.waitForFunction('window.verifier !== undefined');
});

/** What the page above puts into its window. */
interface PageWindow {
  requestAnimationFrame(then: (value: unknown) => void): void;
  verifier: {
    verifyReceipt(source: string, options: object): Promise<Judgement>;
    verifyPack(pack: File, options: object): Promise<Judgement>;
    samplePack(
      pack: File,
      draw: { seed: string; size: number },
      options: object,
    ): Promise<{ judgement: Judgement; drawn?: DrawnPack }>;
  };
  dropped: () => File;
}

/** The file as a visitor drops it into the page. */
async function inBrowser(path: string, options: object): Promise<Judgement> {
  await page.setInputFiles('input', path);
  return page.evaluate((how) => {
    const { verifier, dropped } = globalThis as unknown as PageWindow;
    return verifier.verifyPack(dropped(), how);
  }, options);
}

function receiptInBrowser(source: string, options: object): Promise<Judgement> {
  return page.evaluate(
    async ([text, how]) => {
      // In a turn of the page's own: what evaluate calls at once may do what the policy forbids.
      const own = globalThis as unknown as PageWindow;
      await new Promise((resolve) => own.requestAnimationFrame(resolve));
      return own.verifier.verifyReceipt(text, how);
    },
    [source, options] as const,
  );
}

it('a page draws the sample that the command draws', async () => {
  const out = join(lab.directory, 'sample-of-command');
  const by = ['--trust', lab.trust, '--size', '8', '--seed', 'dice', '--out', out];
  await runDocket(['sample', lab.whole, ...by], {});
  await page.setInputFiles('input', lab.whole);
  const drawn = await page.evaluate(
    async (options) => {
      const { verifier, dropped } = globalThis as unknown as PageWindow;
      return verifier.samplePack(dropped(), { seed: 'dice', size: 8 }, options);
    },
    { file: lab.whole, trust: packTrust },
  );
  expect(drawn.judgement.verdict).toBe('good');
  expect(drawn.drawn?.table).toBe(readFileSync(join(out, 'workpaper.csv'), 'utf8'));
  // A page that a browser made has no files of receipts beside it.
  expect(drawn.drawn?.page).toContain('beside this page they are not');
  expect(readFileSync(join(out, 'workpaper.html'), 'utf8')).not.toContain('they are not');
  await page.goto(`${system.root}/verify`);
  await page.setInputFiles('#file', lab.whole);
  await page.check('[name=keys][value=own]');
  await page.setInputFiles('#did', lab.trust);
  await page.click('#verify [type=submit]');
  await page.fill('#size', '8');
  await page.click('#sample [type=submit]');
  await page.waitForSelector('#drawn-rows tr');
  expect(await page.locator('#drawn-rows tr').count()).toBe(8);
  await page.goto(`${system.root}/a-page`);
  await page.waitForFunction('window.verifier !== undefined');
});

describe('receipts in a browser', () => {
  const pack = new ForgedPack(lab.whole);
  const lines = pack.text(pack.shard('receipts')).trimEnd().split('\n');
  const altered = lines[0]!.replace(/"validFrom":"2/, '"validFrom":"1');
  const directory = lab.directory;

  it.each([
    ['a good one', lines[0]!, trust],
    ['an altered one', altered, trust],
    ['one without its issuer’s keys', lines.at(-1)!, undefined],
    ['no receipt', '{"a":1}', trust],
    ['no JSON', 'hello', trust],
  ])('%s', async (name, text, keys) => {
    const file = join(directory, `receipt-of-${name.replaceAll(/\W/g, '-')}.json`);
    writeFileSync(file, text);
    // The keys that lie beside it are not to be found: it is told whose to take, or none.
    const aside = await runDocket(
      ['verify', file, ...(keys === undefined ? [] : ['--trust', lab.trust])],
      {},
    );
    const ours = await receiptInBrowser(text, {
      file,
      trust: keys ?? {
        didJson,
        source: `${join(directory, 'did.json')}, which lay beside it and does not show whose it is; fetch it from the issuer and use --trust`,
        isChosen: false,
      },
    });
    expect(ours.text).toBe(aside.stdout);
    expect(ours.exitCode).toBe(aside.code);
  });

  const estimated = lines.find((line) => line.includes('/derivations/'))!;
  const { proof: _, ...unsigned } = JSON.parse(estimated);
  unsigned.measurement.result[0].value = '0.000001';
  const wrong = signedReceipt(lab.lab.signer('receipts'), unsigned);
  it.each([
    ['follow', estimated, 'good'],
    ['do not follow', wrong, 'bad'],
  ])(
    'figures that %s from the record beside the receipt are computed again',
    async (name, text, verdict) => {
      const [digest] = /(?<=\/derivations\/)[\w-]+/.exec(text)!;
      const record = { file: join(directory, `${digest}.json`), text: '' };
      record.text = pack.text(derivationPath(digest));
      writeFileSync(record.file, record.text);
      const file = join(directory, `figures-${name.replaceAll(' ', '-')}.json`);
      writeFileSync(file, text);
      const aside = await runDocket(['verify', file, '--trust', lab.trust], {});
      const ours = await receiptInBrowser(text, { file, trust, derivation: record });
      expect(ours).toMatchObject({ verdict, exitCode: aside.code, text: aside.stdout });
    },
  );
});

describe('packs in a browser', () => {
  it('says of a whole one what the command prints', async () => {
    const said = await runDocket(['verify', lab.whole, '--trust', lab.trust]);
    const ours = await inBrowser(lab.whole, { file: lab.whole, trust: packTrust });
    expect(ours).toMatchObject({ verdict: 'good', exitCode: 0, text: said.stdout });
    const json = await runDocket(['verify', lab.whole, '--trust', lab.trust, '--json']);
    expect(ours.report).toEqual(JSON.parse(json.stdout));
  });

  it('says of one without named keys that its issuer is unknown', async () => {
    const said = await runDocket(['verify', lab.range]);
    const ours = await inBrowser(lab.range, { file: lab.range });
    expect(ours).toMatchObject({ verdict: 'intact', exitCode: 3, text: said.stdout });
  });

  // Every eighth row, and all that are about signatures: there a browser goes another way.
  const rows = tamperings(lab).filter(
    ({ name, flags = [] }, i) =>
      (i % 8 === 0 || /sign|revoked/i.test(name)) && !flags.includes('--require-timestamp'),
  );
  // A row is two seconds of a processor, and both read it by the same program: of quick runs the sample is sampled again.
  const kindOf = ({ name, powers }: Tampering): string =>
    `${powers}: ${/sign|revoked/i.test(name)}`;
  const sampled = sample(sample(rows, kindOf), kindOf);
  it.each(sampled.map((row) => [row.name, row] as const))('tampering: %s', async (_, row) => {
    const path = await forgeRow(lab, row);
    const how = {
      file: path,
      trust: packTrust,
      requireAnchor: row.flags?.includes('--require-anchor') === true,
      requireReleasedMethodology: row.flags?.includes('--require-released-methodology') === true,
      ...demandsOf(lab, row.witnesses),
    };
    const [command, ours] = [await verifyPack(path, how), await inBrowser(path, how)];
    expect(ours.text).toBe(command.text);
    expect(ours).toEqual(JSON.parse(JSON.stringify(command)));
  });

  it('runs under a policy that allows nothing but scripts of the same origin', () => {
    expect(violations).toEqual([]);
  });
});

describe('the files of the verifier', () => {
  it('are what the entry names, are told when they did not change, and nothing else is there', async () => {
    const url = `${system.root}/verify/docket-verify.js`;
    const first = await fetch(url);
    expect([first.status, first.headers.get('content-type')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
    ]);
    const again = await fetch(url, { headers: { 'if-none-match': first.headers.get('etag')! } });
    expect(again.status).toBe(304);
    for (const other of ['nothing.js', '..%2fpackage.json', basename(lab.trust), 'a.ts']) {
      expect((await fetch(`${system.root}/verify/${other}`)).status).toBe(404);
    }
  });
});

describe('/verify and the record that a receipt names', () => {
  it('asks its own gateway by a click, by its digest alone, and says of the figures what the command says of the record beside it [dashboard.verify]', async () => {
    const receipt = await (await post(system, '/chat/completions', chatBody())).text();
    const [digest] = /(?<=\/derivations\/)[\w-]+/.exec(receipt)!;
    const served = `${system.root}/derivations/${digest}`;
    const record = await (await fetch(served)).text();
    const [file, keys, beside] = ['own.json', 'own-did.json', `${digest}.json`].map((name) =>
      join(lab.directory, name),
    ) as [string, string, string];
    writeFileSync(file, receipt);
    writeFileSync(keys, await (await fetch(`${system.root}/.well-known/did.json`)).text());
    /** What the page says of a receipt, and the command: in words about record and figures, with the verdict. */
    const site = await (await browser.newContext({ baseURL: system.root })).newPage();
    const asked: string[] = [];
    site.on('request', (request) => {
      if (request.url().includes('derivations')) asked.push(request.url());
    });
    const judge = async (text: string): Promise<{ verdict: string; checks: string }> => {
      asked.length = 0;
      await site.goto('/verify');
      await site.getByText('Or paste a receipt').click();
      await site.locator('#text').fill(text);
      await site.getByRole('button', { name: 'Check' }).click();
      await site.locator('#result').waitFor();
      expect(asked).toEqual([]);
      const fetching = site.getByRole('button', { name: 'Fetch the record' });
      if (await fetching.isVisible()) {
        await fetching.click();
        await fetching.waitFor({ state: 'hidden' });
        await site.locator('#progress:empty').waitFor({ state: 'attached' });
      }
      const [verdict, checks] = await Promise.all(
        ['#verdict', '#checks'].map((part) => site.locator(part).textContent()),
      );
      return { verdict: verdict!, checks: checks! };
    };
    const linesOf = (text: string): string[] =>
      text
        .split('\n')
        .filter((line) => /^(derivation record|figures) /.test(line))
        .map((line) => line.replace(/ {2,}/, '  '));
    const command = async (...more: string[]): Promise<string[]> => {
      const { stdout } = await runDocket(['verify', file, '--trust', keys, ...more]);
      return linesOf(stdout.replaceAll(beside, new URL(served).host + new URL(served).pathname));
    };

    const missing = await command();
    writeFileSync(beside, record);
    const found = await judge(receipt);
    expect(linesOf(found.checks)).toEqual(await command());
    expect(found.verdict).toMatch(/Good\..*figures: computed again/s);
    expect(asked).toEqual([served]);

    // Where it cannot be had that is said, and what to do; the receipt is as good as it was for the command.
    await site.route('**/derivations/*', (route) => route.fulfill({ status: 503 }));
    const away = await judge(receipt);
    expect(away.verdict).toMatch(/Good\..*figures were not computed again/s);
    const [why] = linesOf(away.checks);
    expect(why).toContain(missing[0]!.split(': ')[0]);
    expect(why).toContain(`/derivations/${digest} could not be fetched (503)`);

    // Another record is not believed, wherever it comes from.
    const other = record.replace('"version":1}', '"version":1 }');
    await site.unroute('**/derivations/*');
    await site.route('**/derivations/*', (route) => route.fulfill({ body: other }));
    const altered = await judge(receipt);
    writeFileSync(beside, other);
    expect(linesOf(altered.checks)).toEqual(await command());
    expect(altered.verdict).toContain('Bad.');

    // A receipt of another issuer is none of this gateway's business.
    const [theirs] = new ForgedPack(lab.whole)
      .text(new ForgedPack(lab.whole).shard('receipts'))
      .split('\n')
      .filter((line) => line.includes('/derivations/'));
    expect((await judge(theirs!)).checks).toContain('this page asks its own gateway alone');
    expect(asked).toEqual([]);
    await site.context().close();
  });
});

const drop = (name: string, text: string) => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: Buffer.from(text),
});
const open = async (): Promise<Page> =>
  (await browser.newContext({ baseURL: system.root })).newPage();
const verdictOf = async (site: Page): Promise<string> => {
  await site.getByRole('button', { name: 'Check' }).click();
  await site.locator('#progress:empty').waitFor({ state: 'attached' });
  return (await site.locator('#verdict').textContent())!.replaceAll(/\s+/g, ' ').trim();
};

describe('what people have, on /verify', () => {
  it('an answer and its request are compared, and one that was altered is bad', async () => {
    const request = JSON.stringify(chatBody());
    const answer = await (await post(system, '/chat/completions', request)).text();
    const site = await open();
    await site.goto('/verify');
    await site.setInputFiles('#file', drop('answer.json', answer));
    expect(await verdictOf(site)).toContain('the request was not compared.');
    await site.setInputFiles('#request', drop('request.json', request));
    expect(await verdictOf(site)).toContain('The answer and the request are those that it is of.');
    // A receipt and an answer that came apart are put together again.
    const { receipt, ...apart } = JSON.parse(answer) as { receipt: object };
    await site.setInputFiles('#file', drop('receipt.json', JSON.stringify(receipt)));
    expect(await verdictOf(site)).toContain('the answer was not compared.');
    await site.setInputFiles('#answer', drop('answer.json', JSON.stringify(apart)));
    expect(await verdictOf(site)).toContain('The answer and the request are those that it is of.');
    const other = JSON.stringify(apart).replace('"object":"chat', '"object":"xhat');
    await site.setInputFiles('#answer', drop('answer.json', other));
    expect(await verdictOf(site)).toMatch(/^Bad\. receipt\.json: The answer is not the one/);
    await site.setInputFiles('#answer', []);
    const altered = answer.replace('"object":"chat', '"object":"xhat');
    await site.setInputFiles('#file', drop('answer.json', altered));
    expect(await verdictOf(site)).toMatch(/^Bad\. answer\.json: The answer is not the one/);
    await site.context().close();
  });

  it('others have their turn, and a bar shows how far it is, while an answer of megabytes is compared', async () => {
    const answer = await (await post(system, '/chat/completions', chatBody())).text();
    const text = 'größer '.repeat(300_000);
    const site = await open();
    await site.goto('/verify');
    await site.getByRole('button', { name: 'Check' }).waitFor();
    await site.setInputFiles(
      '#file',
      drop('answer.json', answer.replace('"content":"', `$&${text}`)),
    );
    // Counted in turns of the page: what the bar shows at each.
    await site.evaluate(`
      window.shown = new Set();
      const look = () => {
        const bar = document.getElementById('bar');
        if (!bar.hidden) window.shown.add(bar.value);
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = look;
        port2.postMessage(null);
      };
      look();`);
    expect(await verdictOf(site)).toMatch(/^Bad\. answer\.json: The answer is not the one/);
    expect(await site.evaluate('window.shown.size')).toBeGreaterThan(50);
    expect(await site.locator('#bar').isVisible()).toBe(false);
    await site.context().close();
  });

  it('an id is asked for with a key, behind the # of an address as well, and without one the page says what it takes', async () => {
    const answered = await post(system, '/chat/completions', JSON.stringify(chatBody()));
    const id = answered.headers.get('x-receipt-id')!;
    const { id: answerId } = (await answered.json()) as { id: string };
    const site = await open();
    const asked: string[] = [];
    site.on('request', (each) => {
      if (each.url().includes(id) && !each.isNavigationRequest()) asked.push(each.url());
    });
    await site.goto(`/verify#${id}`);
    await site.getByRole('button', { name: 'Check' }).waitFor();
    expect(asked).toEqual([]);
    expect(await verdictOf(site)).toContain('Sign in to the dashboard');
    await site.getByLabel(/A key with/).fill(system.key);
    for (const name of [id, `${system.root}/receipts/${id}`, answerId]) {
      await site.getByLabel('Or an id or an address').fill(name);
      expect(await verdictOf(site), name).toMatch(
        /^Good\..*Answer and request were not compared\./,
      );
    }
    await site
      .getByLabel('Or an id or an address')
      .fill(`https://elsewhere.example/receipts/${id}`);
    expect(await verdictOf(site)).toContain('This page asks its own site alone.');
    expect(asked.every((url) => new URL(url).origin === system.root)).toBe(true);
    expect(new URL(site.url()).search).toBe('');
    await site.context().close();
  });

  it('a checkpoint, and an audit log with its checkpoint, are judged', async () => {
    const get = async (path: string): Promise<string> => {
      const headers = { authorization: `Bearer ${system.key}` };
      let reply = await fetch(`${system.baseUrl}${path}`, { headers });
      await until(async () => {
        reply = await fetch(`${system.baseUrl}${path}`, { headers });
        return reply.status === 200;
      });
      return reply.text();
    };
    await (await post(system, '/chat/completions', JSON.stringify(chatBody()))).text();
    const head = await get('/ledger/checkpoint');
    const site = await open();
    await site.goto('/verify');
    await site.setInputFiles('#file', drop('checkpoint.txt', head));
    expect(await verdictOf(site)).toMatch(/^Good\. The signed head is what its issuer signed\./);
    await site.setInputFiles('#file', drop('checkpoint.txt', head.replace(/\n\d+\n/, '\n9\n')));
    expect(await verdictOf(site)).toMatch(/^Bad\..*No key of the issuer/);

    const [signed, entries] = [
      await get('/audit-log/checkpoint'),
      await get('/audit-log?limit=100'),
    ];
    const log = drop('log.json', entries);
    await site.setInputFiles('#file', [log, drop('head.txt', signed)]);
    expect(await verdictOf(site)).toMatch(/^Good\. The first .* there, unchanged and in/);
    await site.setInputFiles('#request', drop('request.json', '{}'));
    expect(await verdictOf(site)).toContain('compared with a receipt, and none is here');
    await site.setInputFiles('#request', []);
    await site.setInputFiles('#policy', drop('a.policy', 'quorum none\n'));
    expect(await verdictOf(site)).toContain('A witness policy is for a pack, and this is none');
    await site.setInputFiles('#policy', []);
    await site.setInputFiles('#file', [log]);
    expect(await verdictOf(site)).toMatch(
      /^Cannot be judged here\. Its entries 0 to \d+ name each other’s hashes in order; whether any was altered/,
    );
    const altered = drop('log.json', entries.replace('"action":"', '"action":"x'));
    await site.setInputFiles('#file', [altered, drop('head.txt', signed)]);
    expect(await verdictOf(site)).toMatch(/^Bad\..*it was altered/);
    await site.context().close();
  });
});

describe('the audit log’s page leads to /verify', () => {
  it('log and head are asked for by the click alone, and a log that was saved is compared with the head', async () => {
    const { orgId } = system;
    const log = `/dashboard/${orgId}/audit-log`;
    const get = async (path: string): Promise<Response> =>
      fetch(`${system.baseUrl}/audit-log${path}`, {
        headers: { authorization: `Bearer ${system.key}` },
      });
    await until(async () => (await get('/checkpoint')).ok);
    const checkpoint = await (await get('/checkpoint')).text();
    const entries = await (await get('?limit=100&order=asc')).text();
    const site = await open();
    // What the dashboard gives to a session.
    const asked: string[] = [];
    await site.route(`**${log}**`, (route) => {
      const { pathname } = new URL(route.request().url());
      asked.push(pathname.slice(log.length));
      if (pathname.endsWith('anchor.json')) return route.fulfill({ status: 404 });
      return route.fulfill({ body: pathname.endsWith('.txt') ? checkpoint : entries });
    });
    await site.goto(`/verify#${log}`);
    await site.getByRole('button', { name: 'Check' }).waitFor();
    expect(asked).toEqual([]);
    const sound = /^Good\. The first .* there, unchanged and in/;
    expect(await verdictOf(site)).toMatch(sound);
    expect(asked.splice(0)).toEqual(['/anchor.json', '/checkpoint.txt', '.json']);
    await site.setInputFiles('#file', drop('log.json', entries));
    expect(await verdictOf(site)).toMatch(sound);
    expect(asked.splice(0)).toEqual(['/anchor.json', '/checkpoint.txt']);
    const altered = entries.replace('"action":"', '"action":"x');
    await site.setInputFiles('#file', drop('log.json', altered));
    expect(await verdictOf(site)).toMatch(/^Bad\..*it was altered/);
    await site.context().close();
  });
});

describe('the proof on the page of a receipt', () => {
  it('says of each step whether it holds, and of what is named alone that it was not checked', async () => {
    const site = await open();
    const step = (title: string, holds: boolean | null) => ({ title, holds, says: '', facts: {} });
    const served = new Map([
      [
        '/a-receipt',
        `<div id="proof" data-verifier="/steps.js" data-files="/files.json"><button hidden>Follow</button>
         <span role="status"></span><ol></ol></div><script type="module" src="/assets/page.js"></script>`,
      ],
      ['/files.json', '{"anchor": "{}"}'],
      ['/steps.js', 'export const followProof = async () => globalThis.steps;'],
    ]);
    await site.route(
      ({ pathname }) => served.has(pathname),
      (route) => {
        const { pathname } = new URL(route.request().url());
        const contentType = pathname.endsWith('.js') ? 'text/javascript' : 'text/html';
        return route.fulfill({ body: served.get(pathname)!, contentType });
      },
    );
    await site.goto('/a-receipt');
    const followed = async (...steps: ReturnType<typeof step>[]): Promise<string[]> => {
      await site.evaluate(`globalThis.steps = ${JSON.stringify(steps)}`);
      await site.getByRole('button', { name: 'Follow' }).click();
      await site.getByText(/^All|^Step/).waitFor();
      const badges = await site.locator('li .badge').allTextContents();
      return [...badges, await site.getByRole('status').textContent()].map(String);
    };
    expect(await followed(step('Leaf', true), step('Witnesses', null))).toEqual([
      'holds',
      'not checked',
      expect.stringMatching(/^All 1 steps that are checked hold/),
    ]);
    expect(await followed(step('Leaf', true), step('Root', false))).toEqual([
      'holds',
      'does not hold',
      'Step 2 does not hold: Root.',
    ]);
    await site.context().close();
  });
});

describe('/verify when the network is gone', () => {
  it('judges packs and receipts in a browser that has had it open, by keys of one’s own and by those that it kept', async () => {
    // An address of its own, which goes away.
    const network = await startCuttingProxy(system.root, 0);
    const context = await browser.newContext({ baseURL: network.baseUrl });
    const visited = await context.newPage();
    await visited.goto('/verify');
    await visited.waitForSelector('#kept:not([hidden])');
    const receipt = await (await post(system, '/chat/completions', chatBody())).text();
    // Nothing answers at its address: further than any setting of the browser goes.
    network.end();
    await visited.reload();

    await visited.setInputFiles('#file', lab.whole);
    await visited.check('[name=keys][value=own]');
    await visited.setInputFiles('#did', lab.trust);
    await visited.click('button[type=submit]');
    await visited.waitForSelector('#verdict.good');
    expect(await visited.textContent('#verdict')).toMatch(/Good\..*The pack is whole/s);

    await visited.reload();
    await visited.click('summary');
    await visited.fill('#text', receipt);
    await visited.click('button[type=submit]');
    await visited.waitForSelector('#verdict.good');
    // Each thing that was checked stands beside its name.
    const trusted = visited.locator('#checks .fact', { hasText: /^trusted/ });
    expect(await trusted.locator('span').nth(1).textContent()).toContain('as this browser kept it');
    await visited.click('#ask-record');
    await visited.locator('#checks', { hasText: 'could not be fetched' }).waitFor();
    await context.close();
  });
});
