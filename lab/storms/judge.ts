import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { readEnvironment } from '#shared/config/config.ts';
import type { Attempt } from './load.ts';

/** Receipts that are owed are issued within seconds once everything is back; after this long they are not coming. */
const RECEIPTS_MS = 90_000;
const LOOK_MS = 250;
/** Findings that are kept of each kind. */
const EXAMPLES_MAX = 5;

/** A time in which connections may break, because what is at their other end was killed. */
export interface Excuse {
  from: number;
  to: number;
}

export interface Verdict {
  attempts: number;
  answered: number;
  refused: number;
  /** Answers under way when what holds the connection was killed. */
  excused: number;
  /** A 200, or an error that names a receipt, whose receipt never came. */
  lost: number;
  /** Two complete receipts under one Idempotency-Key. */
  doubled: number;
  /** The receipt's digest is not of what its client got, or the answer carried another receipt. */
  mismatched: number;
  /** No answer, or one that ends without a whole error. */
  bare: number;
  /** `docket ledger fsck` exits with 0. */
  sound: boolean;
  examples: string[];
}

interface KeptReceipt {
  text: string;
  kind: string;
  integrated: boolean;
  outcome: string | undefined;
  salt: Buffer;
  requestDigest: string | undefined;
  responseDigest: string | undefined;
}

/** The stores of the instance that a storm came over. */
interface Stores {
  databaseUrl: string;
  redisUrl: string;
}

/** Compares everything that clients saw with every receipt there is, once no more are owed. */
export async function judge(
  { databaseUrl, redisUrl }: Stores,
  attempts: readonly Attempt[],
  excuses: readonly Excuse[],
): Promise<Verdict> {
  const wanted = attempts.flatMap(({ receiptId }) => (receiptId === null ? [] : [receiptId]));
  const receipts = await allReceipts(databaseUrl, new Set(wanted));
  const examples: string[] = [];
  const count = (what: string, found: readonly string[]): number => {
    examples.push(...found.slice(0, EXAMPLES_MAX).map((one) => `${what}: ${one}`));
    return found.length;
  };
  const broken = attempts.filter(({ ending }) => ending === 'broken');
  const bare = broken.filter((attempt) => !isExcused(attempt, excuses));
  const { code, text } = await fsck({ databaseUrl, redisUrl });
  if (code !== 0) examples.push(`fsck: ${text.slice(0, 400)}`);
  return {
    attempts: attempts.length,
    answered: attempts.filter(({ ending }) => ending === 'whole').length,
    refused: attempts.filter(({ ending }) => ending === 'error').length,
    excused: broken.length - bare.length,
    lost: count('lost', lostOf(attempts, receipts)),
    doubled: count('doubled', doubledOf(attempts, receipts)),
    mismatched: count('mismatched', mismatchesOf(attempts, receipts)),
    bare: count('without envelope', bare.map(tell)),
    sound: code === 0,
    examples,
  };
}

function isExcused({ startedAt, endedAt }: Attempt, excuses: readonly Excuse[]): boolean {
  return excuses.some(({ from, to }) => startedAt <= to && endedAt >= from);
}

const tell = (attempt: Attempt): string =>
  `${attempt.receiptId ?? 'no receipt id'} ${attempt.stream ? 'stream' : 'plain'} ` +
  `${attempt.idempotencyKey ?? 'no key'}, status ${attempt.status}, ${attempt.ending} ` +
  `(${attempt.reason ?? '-'}) after ${attempt.endedAt - attempt.startedAt} ms, ` +
  `${attempt.payloads.length} payloads, ${new Date(attempt.startedAt).toISOString()}`;

function lostOf(
  attempts: readonly Attempt[],
  receipts: ReadonlyMap<string, KeptReceipt>,
): string[] {
  return attempts
    .filter(({ status, receiptId }) => {
      // An error names a receipt where a call had been made for it.
      if (receiptId === null) return status === 200;
      return receipts.get(receiptId)?.integrated !== true;
    })
    .map(tell);
}

/** By the digest of its request each receipt is found that was issued under a key, also those no caller was told of. */
function doubledOf(
  attempts: readonly Attempt[],
  receipts: ReadonlyMap<string, KeptReceipt>,
): string[] {
  const keyed = new Map(
    attempts.flatMap(({ idempotencyKey, body }) =>
      idempotencyKey === null ? [] : [[idempotencyKey, Buffer.from(body)] as const],
    ),
  );
  const known = new Map(attempts.map((attempt) => [attempt.receiptId, attempt]));
  const complete = new Map<string, string[]>();
  for (const [id, receipt] of receipts) {
    if (receipt.outcome !== 'complete') continue;
    const attempt = known.get(id);
    const key =
      attempt === undefined
        ? [...keyed].find(([, body]) => digest(receipt.salt, body) === receipt.requestDigest)?.[0]
        : attempt.idempotencyKey;
    if (key !== null && key !== undefined) complete.set(key, [...(complete.get(key) ?? []), id]);
  }
  return [...complete]
    .filter(([, ids]) => ids.length > 1)
    .map(([key, ids]) => `${key} ${ids.join(' ')}`);
}

function mismatchesOf(
  attempts: readonly Attempt[],
  receipts: ReadonlyMap<string, KeptReceipt>,
): string[] {
  return attempts.flatMap((attempt) => {
    const receipt = receipts.get(attempt.receiptId ?? '');
    // A connection that broke may have taken a part of the answer with it.
    if (attempt.status !== 200 || receipt === undefined || attempt.ending === 'broken') return [];
    const why = mismatchOf(attempt, receipt);
    return why === null ? [] : [`${why}: ${tell(attempt)}`];
  });
}

function mismatchOf(
  attempt: Attempt,
  { salt, responseDigest, outcome, text }: KeptReceipt,
): string | null {
  const { payloads, ending, receipt } = attempt;
  if (receipt?.includes('"proofValue"') === true && receipt !== text) return 'another receipt';
  if (ending === 'whole') {
    if (outcome !== 'complete') return `outcome ${outcome} of a whole answer`;
    return digest(salt, Buffer.from(payloads.join(''))) === responseDigest ? null : 'digest';
  }
  if (outcome === 'complete') return 'complete, but its client saw it fail';
  if (responseDigest === undefined) return null;
  const prefixes = payloads.map((_, index) => payloads.slice(0, index + 1).join(''));
  const covered = ['', ...prefixes].some(
    (prefix) => digest(salt, Buffer.from(prefix)) === responseDigest,
  );
  return covered ? null : `digest of ${outcome}`;
}

/** A salted digest as it stands in a receipt: multihash, in multibase. */
function digest(salt: Buffer, bytes: Buffer): string {
  const sum = hash('sha256', Buffer.concat([salt, bytes]), 'buffer');
  return `u${Buffer.concat([Buffer.from([0x12, 0x20]), sum]).toString('base64url')}`;
}

/** Waits until the wanted receipts are in the ledger and none is owed any more, or time is over; returns all there are. */
async function allReceipts(
  databaseUrl: string,
  wanted: ReadonlySet<string>,
): Promise<Map<string, KeptReceipt>> {
  const end = Date.now() + RECEIPTS_MS;
  for (;;) {
    const receipts = await readReceipts(databaseUrl);
    const owed = [...wanted].some((id) => receipts.get(id)?.integrated !== true);
    const pending = [...receipts.values()].some(({ integrated }) => !integrated);
    if ((!owed && !pending) || Date.now() > end) return receipts;
    await delay(LOOK_MS);
  }
}

async function readReceipts(databaseUrl: string): Promise<Map<string, KeptReceipt>> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string; kind: string; body: Buffer; in: boolean }>(
      `select b.entry_id as id, b.kind, b.body, e.entry_id is not null as in
       from ledger_body b left join ledger_entry e using (entry_id) where b.supersedes is null`,
    );
    return new Map(
      rows.map(({ id, kind, body, in: integrated }) => [id, read(kind, body, integrated)]),
    );
  } finally {
    await client.end();
  }
}

function read(kind: string, body: Buffer, integrated: boolean): KeptReceipt {
  const text = body.toString();
  const { credentialSubject: subject } = JSON.parse(text) as {
    credentialSubject: Record<string, string | undefined>;
  };
  const { outcome, requestDigest, responseDigest, salt = 'u' } = subject;
  return {
    text,
    kind,
    integrated,
    outcome,
    requestDigest,
    responseDigest,
    salt: Buffer.from(salt.slice(1), 'base64url'),
  };
}

function fsck({ databaseUrl, redisUrl }: Stores): Promise<{ code: number; text: string }> {
  const docket = join(import.meta.dirname, '../../cli/docket.ts');
  const path = readEnvironment()['PATH'];
  const env = { PATH: path, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  return new Promise((resolve) => {
    // Elsewhere than in a checkout, where the keys of another system may lie.
    const options = { env, cwd: tmpdir() };
    execFile(process.execPath, [docket, 'ledger', 'fsck'], options, (error, out, problems) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, text: out + problems });
    });
  });
}
