import { spawn } from 'node:child_process';
import { afterAll, expect, it } from 'vitest';
import { createAnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { examineLedger } from '#cli/fsck/ledger.ts';
import { createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { checkAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { createAnchorWriter, keysByNumber } from '#test/support/anchor.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { isDeep, SEED } from '#test/support/depth.ts';
import {
  integrateAll,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';
import { startTestRedis } from '#test/support/redis.ts';

const database = await createTestDatabase();
const redisServer = await startTestRedis();
const receipts = database.poolAs('docket_receipts');
const ledger = database.poolAs('docket_ledger');
const operator = database.poolAs('docket_operator', 1);
const signer = makeCheckpointSigner();
const redis = connectRedis({ url: redisServer.url, name: 'test', use: 'patient' });
afterAll(() => redis.disconnect());
const memory = createCheckpointMemory(redis);
/** Everything that was issued, by all tests. */
const issued: string[] = [];

/** Of the statements of a turn all in a deep run, else every tenth: before it is sent another than once it is. */
const triedOf = (statements: number, moment: Death['moment']): number[] =>
  Array.from({ length: statements }, (_, i) => i + 1).filter(
    (nth) => isDeep || (nth + SEED) % 10 === (moment === 'before' ? 0 : 5) || nth === statements,
  );

/** Entries per log and round: over all rounds a full tile is completed again and again. */
const ROUND = 90;

interface Ending {
  signal: NodeJS.Signals | null;
  /** Statements of a whole turn, when it got that far. */
  statements: number;
}

interface Death {
  nth: number;
  moment: 'before' | 'sent';
  turn: 'integrate' | 'anchor';
  /** How many signing keys there are. */
  keys?: number;
}

function crash({ nth, moment, turn, keys = 0 }: Death): Promise<Ending> {
  const script = new URL('ledger-crashing.ts', import.meta.url).pathname;
  const args = [script, database.url, redisServer.url, `${nth}`, moment, turn, `${keys}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (_code, signal) => resolve({ signal, statements: Number(output) }));
  });
}

it(
  'a worker that is killed at any statement of integration loses nothing, repeats nothing and leaves no gap [evidence.crash, survives.ledger-worker]',
  { timeout: 240_000 },
  async () => {
    const publisher = {
      signer,
      memory,
      originOf,
      limit: 100,
      intervalMs: 0,
    };
    const round = async (death: Pick<Death, 'nth' | 'moment'>): Promise<Ending> => {
      const batch = [...makeReceipts('org_a', ROUND), ...makeReceipts('org_b', 2)];
      await submitReceipts(receipts, batch);
      issued.push(...batch.map((receipt) => receipt.id));
      const ending = await crash({ ...death, turn: 'integrate' });
      await untilGone();
      await integrateAll(ledger);
      const { halted } = await publishCheckpoints(ledger, publisher);
      expect(halted, `${death.moment} statement ${death.nth}`).toEqual([]);
      return ending;
    };
    const { statements } = await round({ nth: Infinity, moment: 'before' });
    for (const moment of ['before', 'sent'] as const) {
      for (const nth of triedOf(statements, moment)) {
        expect((await round({ nth, moment })).signal, `${moment} ${nth}`).toBe('SIGKILL');
        if (nth % 5 === 0) await expectSound();
      }
    }
    await expectSound();
    // begin, plan, claim, heads (2), savepoint, entries, heads, promises, release, commit; then signing.
    expect(statements).toBeGreaterThan(18);
  },
);

it(
  'a worker that is killed at any statement of anchoring anchors everything once, and no slot twice',
  { timeout: 240_000 },
  async () => {
    const writer = createAnchorWriter(signer, memory);
    const anchor = createAnchorReader(database.poolAs('docket_api', 1));
    const slots = new Map<string, number>();
    let keys = 0;
    const round = async ({ nth, moment }: Pick<Death, 'nth' | 'moment'>): Promise<Ending> => {
      keys += 1;
      // One organisation is new each time, one has grown.
      const orgs = ['org_a', `org_${moment}_${nth}`];
      const batch = orgs.flatMap((orgId) => makeReceipts(orgId, 1));
      await submitReceipts(receipts, batch);
      issued.push(...batch.map((receipt) => receipt.id));
      await integrateAll(ledger);
      const publisher = { signer, memory, originOf, limit: 100, intervalMs: 0 };
      const { signed } = await publishCheckpoints(ledger, publisher);
      const ending = await crash({ nth, moment, turn: 'anchor', keys });
      await untilGone();
      const { halted } = await writer.turn(ledger, { keys: keysByNumber(keys) });
      expect(halted, `${moment} statement ${nth}`).toBe(null);
      for (const { orgId, size } of signed) {
        const shown = checkAnchorProof((await anchor.proof(orgId))!);
        expect(shown.head.size).toBe(size);
        expect(shown.slot).toBe(slots.get(orgId) ?? shown.slot);
        slots.set(orgId, shown.slot);
      }
      return ending;
    };
    const { statements } = await round({ nth: Infinity, moment: 'before' });
    for (const moment of ['before', 'sent'] as const) {
      for (const nth of triedOf(statements, moment)) {
        expect((await round({ nth, moment })).signal, `${moment} ${nth}`).toBe('SIGKILL');
      }
    }
    expect(new Set(slots.values()).size).toBe(slots.size);
    // Looking twice, with the lock in between; entries, heads, slots; signing.
    expect(statements).toBeGreaterThan(30);
    const events = await anchor.keyEvents();
    expect(events.map(({ event }) => event.key)).toEqual(keysByNumber(keys).map(({ key }) => key));
    await expectSound();
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
async function expectSound(): Promise<void> {
  const { rows } = await database.pool.query<{ entry_id: string }>(
    `select entry_id from ledger_entry where org_id <> 'anchor'`,
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
