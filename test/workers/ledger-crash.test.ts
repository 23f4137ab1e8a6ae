import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { publishCheckpoints } from '../../shared/adapters/postgres/ledger-checkpoints.ts';
import { examineLedger } from '../../shared/adapters/postgres/ledger-fsck.ts';
import { createCheckpointMemory } from '../../shared/adapters/redis/checkpoint-memory.ts';
import { connectRedis } from '../../shared/adapters/redis/connect.ts';
import { createTestDatabase } from '../support/database.ts';
import {
  integrateAll,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
} from '../support/ledger.ts';
import { startTestRedis } from '../support/redis.ts';

const database = await createTestDatabase();
const redisServer = await startTestRedis();
const receipts = database.poolAs('docket_receipts');
const ledger = database.poolAs('docket_ledger');
const operator = database.poolAs('docket_operator', 1);
const signer = makeCheckpointSigner();

/** Entries per log and round: over all rounds a full tile is completed again and again. */
const ROUND = 90;

interface Ending {
  signal: NodeJS.Signals | null;
  /** Statements of a whole turn, when it got that far. */
  statements: number;
}

function crash(nth: number, moment: 'before' | 'sent'): Promise<Ending> {
  const script = new URL('ledger-crashing.ts', import.meta.url).pathname;
  const args = [script, database.url, redisServer.url, String(nth), moment];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (_code, signal) => resolve({ signal, statements: Number(output) }));
  });
}

it(
  'loses nothing, repeats nothing and leaves no gap when killed at any statement',
  { timeout: 240_000 },
  async () => {
    const redis = connectRedis({ url: redisServer.url, name: 'test', use: 'patient' });
    const publisher = {
      signer,
      memory: createCheckpointMemory(redis),
      originOf,
      limit: 100,
      intervalMs: 0,
    };
    const issued: string[] = [];
    const killed: string[] = [];
    for (const moment of ['before', 'sent'] as const) {
      for (let nth = 1; ; nth += 1) {
        const batch = [...makeReceipts('org_a', ROUND), ...makeReceipts('org_b', 2)];
        await submitReceipts(receipts, batch);
        issued.push(...batch.map((receipt) => receipt.id));
        const { signal, statements } = await crash(nth, moment);
        await untilGone();
        await integrateAll(ledger);
        const { halted } = await publishCheckpoints(ledger, publisher);
        expect(halted, `${moment} statement ${nth}`).toEqual([]);
        if (signal === null) {
          // It got through a whole turn, so every statement before this one has been tried.
          expect(nth).toBe(statements + 1);
          break;
        }
        killed.push(`${signal} ${moment} ${nth}`);
        if (nth % 5 === 0) await expectSound(issued);
      }
    }
    await expectSound(issued);
    // begin, plan, claim, heads (2), savepoint, entries, heads, promises, release, commit; then signing.
    expect(killed.length).toBeGreaterThan(36);
    expect(killed.every((each) => each.startsWith('SIGKILL'))).toBe(true);
    redis.disconnect();
  },
);

/** The server notices the dead client, and lets go of what it held, only when it next reads from it. */
async function untilGone(): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query(
      `select from pg_stat_activity where application_name = 'crashing' and datname = current_database()`,
    );
    if (rows.length === 0) return;
  }
}

/** Every receipt has exactly one entry, indexes have no gap, nothing waits, and fsck has nothing to say. */
async function expectSound(issued: readonly string[]): Promise<void> {
  const { rows } = await database.pool.query<{ entry_id: string }>(
    'select entry_id from ledger_entry',
  );
  expect(rows.map((row) => row.entry_id).toSorted()).toEqual(issued.toSorted());
  const { rows: gaps } = await database.pool.query(
    `select org_id from ledger_entry group by org_id having count(*) <> max(index) + 1`,
  );
  expect(gaps).toEqual([]);
  const { rows: pending } = await database.pool.query('select entry_id from receipt_pending');
  expect(pending).toEqual([]);
  for await (const found of examineLedger(operator, {
    signatures: null,
  })) {
    expect(found.kind).toBe('signatures_unchecked');
  }
}
