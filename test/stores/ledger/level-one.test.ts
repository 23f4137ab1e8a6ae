import { beforeAll, expect, it } from 'vitest';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { type Checkpoint, parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { parseProof, proofHolds } from '#shared/ledger/proof-text.ts';
import { verifyConsistency } from '#shared/ledger/proofs.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { isDeep } from '#test/support/depth.ts';
import {
  collectFindings,
  integrateAll,
  leafOf,
  makeCheckpointMemory,
  makeCheckpointSigner,
  originOf,
  tamper,
} from '#test/support/ledger.ts';
import { referenceRoot, referenceTile } from '#test/unit/ledger/reference-tree.ts';

/** A tile of level 1 spans 256 tiles of level 0. */
const SPAN = 65_536;
const SIZE = SPAN + 300;
const ORG = 'org_large';

const database = await createTestDatabase();
const worker = database.poolAs('docket_ledger', 1);
const operator = database.poolAs('docket_operator', 1);
const reader = createLedgerReader(database.poolAs('docket_api', 2));
const signer = makeCheckpointSigner();
const memory = makeCheckpointMemory();

const idOf = (number: number): string => `rcpt_${String(number).padStart(26, '0')}`;
const bodyOf = (number: number): Buffer => Buffer.from(`receipt ${number}`);
let leaves: Buffer[] = [];
let older: Checkpoint;

/** Writes bodies and promises in the database itself: the test is about integration. */
async function submit(from: number, to: number): Promise<void> {
  await database.pool.query(
    `with body as (
       insert into ledger_body (entry_id, org_id, kind, issued_at, leaf_hash, body)
       select 'rcpt_' || lpad(n::text, 26, '0'), $1, 'inference', now(), sha256('\\x00'::bytea || b), b
       from generate_series($2::int, $3::int - 1) as n, lateral (select convert_to('receipt ' || n, 'UTF8')) as t (b)
       returning entry_id, org_id, kind, leaf_hash)
     insert into receipt_pending (entry_id, org_id, kind, leaf_hash) select * from body`,
    [ORG, from, to],
  );
}

async function grow(from: number, to: number): Promise<Checkpoint> {
  await submit(from, to);
  await integrateAll(worker, 5_000);
  const options = { signer, memory, originOf, limit: 1, intervalMs: 0 };
  expect(await publishCheckpoints(worker, options)).toEqual({
    signed: [{ orgId: ORG, size: to }],
    halted: [],
  });
  return parseCheckpoint((await reader.checkpoint(ORG))!).checkpoint;
}

beforeAll(async () => {
  leaves = Array.from({ length: SIZE }, (_, i) => leafOf(bodyOf(i)));
  older = await grow(0, SPAN - 100);
}, 120_000);

it(
  'a log of 65,536 entries completes a tile of level 1, as an independent implementation has it',
  { timeout: 120_000 },
  async () => {
    const tile = (level: number, index: number, width = 256): Promise<Uint8Array | null> =>
      reader.tile(ORG, { level, index, width });
    expect(await tile(1, 0)).toBe(null);
    expect(await tile(1, 0, 255)).toEqual(referenceTile(1, 0, leaves.slice(0, older.size)));
    const newest = await grow(SPAN - 100, SIZE);
    expect(Buffer.from(newest.root)).toEqual(referenceRoot(leaves));
    expect(await tile(1, 0)).toEqual(referenceTile(1, 0, leaves));
    expect(await tile(1, 1, 1)).toEqual(referenceTile(1, 1, leaves).subarray(0, 32));
    expect(await tile(2, 0, 1)).toEqual(referenceTile(2, 0, leaves).subarray(0, 32));
    const { rows } = await database.pool.query<{ level: number; n: number }>(
      'select level, count(*)::int as n from ledger_tile group by level order by level',
    );
    expect(rows).toEqual([
      { level: 0, n: 257 },
      { level: 1, n: 1 },
    ]);
    const proof = (await reader.consistency(ORG, older.size, newest.size))!;
    const sizes = { oldSize: older.size, newSize: newest.size };
    expect(verifyConsistency({ ...sizes, oldRoot: older.root, newRoot: newest.root, proof })).toBe(
      true,
    );
    for (const index of [0, 255, 256, 40_000, SPAN - 1, SPAN, SIZE - 1]) {
      const parsed = parseProof((await reader.proof(ORG, idOf(index)))!);
      expect(parsed.index).toBe(index);
      expect(proofHolds(parsed, leaves[index]!)).toBe(true);
    }
  },
);

it(
  'fsck rebuilds a log with a tile of level 1, and names a flipped bit in that tile',
  { timeout: 120_000 },
  async () => {
    const examine = () => collectFindings(operator, { signatures: null });
    // What is found below is one bit, in the midst of all that is right.
    if (isDeep) expect(await examine()).toMatchObject([{ kind: 'signatures_unchecked' }]);
    await tamper(
      database.pool,
      `update ledger_tile set hashes = set_byte(hashes, 8000, get_byte(hashes, 8000) # 1) where level = 1`,
    );
    expect(await examine()).toMatchObject([
      { kind: 'tile_altered', subject: 'tile 1/000', detail: 'Hash 250 of the tile was altered.' },
      { kind: 'signatures_unchecked' },
    ]);
  },
);
