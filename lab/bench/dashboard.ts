/**
 * What the pages cost with a million receipts and ten million requests of one organisation: `npm run bench dashboard [receipts]
 * [requests] [runs]`. Starts the product, furnishes it as for the screenshots, fills its ledger and its requests, waits until
 * these are counted, and asks for every page: the time at the server, over a connection that is open, and how much is sent, packed
 * as for a browser. More than 300 ms or 60 KB of that is marked. Ten million requests take some twenty minutes and ten gigabytes.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { PersonLogin } from '#embedded/demo-persons.ts';
import { ask, furnish } from '#lab/screenshots/furnish.ts';
import { pagesOf, type Visitor } from '#lab/screenshots/pages.ts';
import { Instance } from '#lab/storms/instance.ts';
import { readNumbers } from './support/arguments.ts';
import { fillOrganisation, fillRequests } from './support/fill-organisation.ts';

const {
  receipts: RECEIPTS,
  requests: REQUESTS,
  runs: RUNS,
} = readNumbers('dashboard [receipts] [requests] [runs]', {
  receipts: 1_000_000,
  requests: 10_000_000,
  runs: 20,
});
/** More than a page of a list. */
const NEWEST = 60;
/** What a reader does not notice. */
const WANTED_MS = 300;
const WANTED_BYTES = 60_000;
const UNPACKED = { br: brotliDecompressSync, gzip: gunzipSync, none: (bytes: Buffer) => bytes };

const instance = await Instance.start({
  env: { REPLICAS: '', ADDRESS_REQUESTS_PER_SECOND: '100000' },
});
try {
  const { info } = instance;
  const furniture = await furnish(info, join(instance.dataDir, 'signing-keys'));
  await fillOrganisation(info, RECEIPTS);
  await fillRequests(info, REQUESTS);
  // The bodies of those are none that a page could read: the newest ones, which lists show, are real.
  for (let i = 0; i < NEWEST; i += 1) await ask(info);
  const visitors: Readonly<Record<Visitor, string>> = {
    nobody: '',
    owner: await cookieOf(info.owner),
    operator: await cookieOf(info.operator),
    reviewer: await cookieOf(info.reviewer),
  };
  console.log(
    `${RECEIPTS} receipts and ${REQUESTS} requests of one organisation in 30 days, ${RUNS} runs of each page`,
  );
  for (const { name, visitor, address, act } of pagesOf(furniture)) {
    // What a visitor has to do first is another request.
    if (act !== undefined) continue;
    await measure(name, address, visitors[visitor]);
  }
} finally {
  await instance.remove();
}

function originOf(): string {
  return new URL(instance.info.base_url).origin;
}

/** Signs in as a browser would. */
async function cookieOf({ email, password }: PersonLogin): Promise<string> {
  const address = `${originOf()}/dashboard/sign-in`;
  const page = await fetch(address);
  const form = /name="form" value="([\w-]+)"/.exec(await page.text())![1]!;
  const visit = cookiesOf(page);
  const reply = await fetch(address, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: originOf(), cookie: visit },
    body: new URLSearchParams({ form, email, password }),
  });
  if (reply.status !== 303) throw new Error(`no person was signed in: ${reply.status}`);
  return `${visit}; ${cookiesOf(reply)}`;
}

function cookiesOf({ headers }: Response): string {
  const cookies = headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  return cookies.join('; ');
}

async function measure(name: string, address: string, cookie: string): Promise<void> {
  const times: number[] = [];
  let [sent, bytes, status] = [0, 0, 0];
  for (let run = 0; run < RUNS; run += 1) {
    const start = performance.now();
    const reply = await get(originOf() + address, cookie);
    ({ status } = reply);
    sent = reply.body.byteLength;
    times.push(performance.now() - start);
    bytes = UNPACKED[reply.coding](reply.body).byteLength;
  }
  times.sort((a, b) => a - b);
  const [middle, most] = [times[times.length >> 1]!, times.at(-1)!];
  const mark = `${most > WANTED_MS ? '  SLOW' : ''}${sent > WANTED_BYTES ? '  LARGE' : ''}`;
  const size = (of: number): string => `${(of / 1_024).toFixed(0).padStart(4)} KiB`;
  console.log(
    `${name.padEnd(16)} ${status}  p50 ${middle.toFixed(0).padStart(5)} ms  max ${most.toFixed(0).padStart(5)} ms  ${size(sent)} sent  ${size(bytes)} unpacked${mark}`,
  );
}

interface Sent {
  status: number;
  body: Buffer;
  coding: keyof typeof UNPACKED;
}

/** Asks as a browser does, and keeps what comes packed as it is: `fetch` would unpack it. */
async function get(url: string, cookie: string): Promise<Sent> {
  const asked = request(url, {
    headers: {
      cookie,
      'accept-encoding': 'gzip, br',
      'sec-fetch-site': 'same-origin',
      'sec-fetch-dest': 'document',
    },
  }).end();
  const [reply] = (await once(asked, 'response')) as [IncomingMessage];
  return {
    status: reply.statusCode!,
    body: await buffer(reply),
    coding: (reply.headers['content-encoding'] ?? 'none') as keyof typeof UNPACKED,
  };
}
