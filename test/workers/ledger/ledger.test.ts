import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createAnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { ensureSigningKeys, loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { keyId } from '#shared/receipts/signing/publication.ts';
import { checkAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { sameHash } from '#shared/ledger/hashing.ts';
import { judgeKey, keyIntervals } from '#shared/ledger/key-events.ts';
import { noteKeyHash, signerOf } from '#shared/ledger/notes.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  checkSignaturesOf,
  makeReceipt,
  makeReceipts,
  submitReceipts,
} from '#test/support/ledger.ts';
import { type StartedProcess, startProcess } from '#test/support/processes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const redis = await startTestRedis({ durable: true });
const receipts = database.poolAs('docket_receipts');
const reader = createLedgerReader(database.poolAs('docket_api'));
const anchor = createAnchorReader(database.poolAs('docket_api'));
const keysDir = await mkdtemp(join(tmpdir(), 'signing-keys-'));
const key = ensureSigningKeys(keysDir).find((each) => each.purpose === 'checkpoints')!;
afterAll(() => rm(keysDir, { recursive: true }));

const start = (): Promise<StartedProcess> =>
  startProcess({
    role: 'ledger',
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      SIGNING_KEYS_DIR: keysDir,
      PUBLIC_URL: 'https://gateway.example',
    },
  });

/** Asks until the answer is there. */
async function untilThere<T>(ask: () => Promise<T | null>, what: string): Promise<T> {
  let answer: T | null = null;
  await until(async () => (answer = await ask()) !== null, what);
  return answer!;
}

describe('the ledger process', () => {
  it('ledger processes in any number integrate and sign, and stop when told to', async () => {
    const workers = await Promise.all([start(), start()]);
    const batch = makeReceipts('org_a', 300);
    await submitReceipts(receipts, batch);
    const note = await untilThere(async () => {
      const checkpoint = await reader.checkpoint('org_a');
      return checkpoint !== null && parseCheckpoint(checkpoint).checkpoint.size === 300
        ? checkpoint
        : null;
    }, 'the whole batch is below a signed head');
    const { checkpoint, note: signed } = parseCheckpoint(note);
    expect(checkpoint.origin).toBe('gateway.example/log/org_a');
    const [line] = signed.signatures;
    expect(line!.name).toBe(checkpoint.origin);
    expect(sameHash(line!.keyHash, noteKeyHash(checkpoint.origin, key.publicKey))).toBe(true);
    for (const worker of workers) {
      const metrics = await fetch(`http://127.0.0.1:${worker.metricsPort}/metrics`);
      expect(await metrics.text()).toContain('docket_ledger_integrated_total');
    }
    expect(await Promise.all(workers.map((worker) => worker.stop()))).toEqual([0, 0]);
  });

  it('a ledger process anchors what it signed, and tells of every key first', async () => {
    const worker = await start();
    const proof = await untilThere(() => anchor.proof('org_a'), 'the head is anchored');
    const shown = checkAnchorProof(proof);
    expect(shown.anchor.origin).toBe('gateway.example/anchor');
    const keys = loadSigningKeys(keysDir);
    const intervals = keyIntervals(await anchor.keyEvents());
    expect([...intervals.keys()].toSorted()).toEqual(
      keys.map((each) => keyId('did:web:gateway.example', each)).toSorted(),
    );
    for (const [note, purpose, at] of [
      [shown.headNote, 'checkpoints', shown.index],
      [shown.anchorNote, 'anchor', shown.anchor.size - 1],
    ] as const) {
      const publicKey = signerOf(
        note,
        checkSignaturesOf([...intervals.values()].map((each) => each.publicKey)),
      )!;
      const interval = [...intervals.values()].find((each) => each.publicKey === publicKey);
      expect(judgeKey(interval, purpose, at)).toBe('good');
    }
    expect(worker.logs().map((entry) => entry['event'])).not.toContain('ledger_step_failed');
    expect(await worker.stop()).toBe(0);
  });

  it('a ledger process raises an alarm for a receipt that cannot be integrated, and goes on', async () => {
    const worker = await start();
    const poison = makeReceipt('org_b', { leafHash: Buffer.alloc(32) });
    const good = makeReceipt('org_b');
    await submitReceipts(receipts, [poison, good]);
    await untilThere(() => reader.proof('org_b', good.id), 'the good receipt is proven');
    const alarm = worker.logs().find((entry) => entry['event'] === 'receipt_quarantined');
    expect(alarm).toMatchObject({ level: 'error', receiptId: poison.id, reason: 'body_altered' });
    expect(await worker.stop()).toBe(0);
  });

  it('a ledger process refuses to start without signing keys, and says how to make them', async () => {
    const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, SIGNING_KEYS_DIR: '/nowhere' };
    await expect(startProcess({ role: 'ledger', env })).rejects.toThrow(
      /No signing key for .*openssl genpkey/s,
    );
  });
});
