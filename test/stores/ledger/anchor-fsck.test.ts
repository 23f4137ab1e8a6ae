import { beforeAll, describe, expect, it } from 'vitest';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import type { KnownKey } from '#shared/ledger/key-events.ts';
import type { Finding } from '#cli/fsck/findings.ts';
import { createAnchorWriter, knownKey } from '#test/support/anchor.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  checkSignaturesOf,
  collectFindings,
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipt,
  originOf,
  type SubmittedReceipt,
  submitReceipts,
  tamper,
} from '#test/support/ledger.ts';

const database = await createTestDatabase();
const worker = database.poolAs('docket_ledger', 2);
const operator = database.poolAs('docket_operator', 1);
const signer = makeCheckpointSigner();
const memory = makeCheckpointMemory();
const writer = createAnchorWriter();
const [first, second] = [knownKey('receipts'), knownKey('receipts')];
/** More than a tile of events, so that every kind of row is there. */
const others = Array.from({ length: 258 }, () => knownKey('packs'));
const signing = [
  knownKey('checkpoints', signer.publicKey),
  knownKey('anchor', writer.signer.publicKey),
];

/** A receipt whose proof names its key, as real ones do. */
function signedBy(orgId: string, { key }: KnownKey): SubmittedReceipt {
  const receipt = makeReceipt(orgId);
  const proof = `{"proofValue":"z","verificationMethod":"${key}"}`;
  return { ...receipt, body: Buffer.from(`{"id":"${receipt.id}","proof":${proof}}`) };
}

async function grow(orgId: string, ...receipts: SubmittedReceipt[]): Promise<void> {
  await submitReceipts(database.pool, receipts);
  await integrateAll(worker);
  const options = { signer, memory, originOf, limit: 10, intervalMs: 0 };
  expect((await publishCheckpoints(worker, options)).signed).toMatchObject([{ orgId }]);
}

const examine = (orgId?: string): Promise<Finding[]> =>
  collectFindings(operator, {
    ...(orgId === undefined ? {} : { orgId }),
    signatures: checkSignaturesOf([signer.publicKey]),
    anchorSignatures: checkSignaturesOf([writer.signer.publicKey]),
    // Nothing was attested here.
    attestations: { witnesses: [], verify: () => false, readTimestamp: async () => 0 },
  });
const told = (findings: Finding[]): string[] =>
  findings.map(({ kind, orgId, subject }) => `${kind} ${orgId} ${subject}`);

/** Some are in every signature; one letter alone need not be. */
const CAPITALS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** Puts the rows of the table back after `work`, also when it failed: other tests look at them. */
async function restoring(table: string, work: () => Promise<void>): Promise<void> {
  await database.pool.query(`create table kept as table ${table}`);
  try {
    await work();
  } finally {
    await tamper(database.pool, `delete from ${table}`);
    await tamper(database.pool, `insert into ${table} select * from kept`);
    await database.pool.query('drop table kept');
  }
  expect(await examine()).toEqual([]);
}

const keys = (...more: KnownKey[]): KnownKey[] => [...signing, ...others, ...more];
/** The entry with the first heads tree. */
let heads = 0;

beforeAll(async () => {
  await grow('org_a', signedBy('org_a', first), signedBy('org_a', first));
  heads = (await writer.turn(worker, { keys: keys(first) })).heads!.index;
  await grow('org_b', signedBy('org_b', first));
  await writer.turn(worker, { keys: keys(first) });
  await grow('org_a', signedBy('org_a', first));
  await writer.turn(worker, { keys: keys(first) });
});

describe('fsck of the anchor', () => {
  it('fsck finds nothing in a sound anchor log', async () => {
    expect(await examine()).toEqual([]);
    expect(await examine('anchor')).toEqual([]);
  });

  const flip = (column: string): string =>
    `${column} = set_byte(${column}, 5, get_byte(${column}, 5) # 16)`;
  it.each([
    [
      'the text of an entry',
      `anchor_entry set ${flip('body')} where index = 3`,
      'body_altered anchor entry 3',
    ],
    [
      'the text of heads',
      `anchor_entry set ${flip('body')} where index = $1`,
      'body_altered anchor entry',
    ],
    [
      'an entry’s hash',
      `ledger_entry set ${flip('leaf_hash')} where org_id = 'anchor' and index = 4`,
      'leaf_altered anchor entry 4',
    ],
    [
      'a tile',
      `ledger_tile set ${flip('hashes')} where org_id = 'anchor'`,
      'tile_altered anchor tile 0/000',
    ],
    [
      'the head',
      `ledger_head set ${flip('root')} where org_id = 'anchor'`,
      'head_wrong anchor head',
    ],
    [
      'a checkpoint',
      `ledger_checkpoint set note = translate(note, '${CAPITALS}', '${CAPITALS.slice(1)}A') where org_id = 'anchor' and size = $1 + 1`,
      'checkpoint_wrong anchor checkpoint',
    ],
    [
      'a slot',
      `anchor_slot set slot = slot # 1 where org_id = 'org_a'`,
      'anchor_wrong anchor entry',
    ],
    [
      'a secret',
      `anchor_epoch set ${flip('secret')} where index = $1`,
      'anchor_wrong anchor entry',
    ],
    [
      'what was anchored',
      `anchor_head set size = 1 where org_id = 'org_a' and index = $1`,
      'anchor_wrong anchor head of org_a',
    ],
    [
      'when it was anchored',
      `anchor_head set index = index + 1 where org_id = 'org_b'`,
      'anchor_wrong anchor entry',
    ],
    [
      'an organisation’s checkpoint',
      `ledger_checkpoint set note = replace(note, e'\\n2\\n', e'\\n3\\n') where org_id = 'org_a' and size = 2`,
      'anchor_wrong anchor entry',
    ],
    [
      'the kind of an entry',
      `ledger_entry set kind = 'key' where org_id = 'anchor' and index = $1`,
      'anchor_wrong anchor',
    ],
  ])('fsck of the anchor names a change of %s', async (_what, change, expected) => {
    const values = change.includes('$1') ? [heads] : [];
    await restoring(change.split(' ')[0]!, async () => {
      expect(await tamper(database.pool, `update ${change}`, values)).toBeGreaterThan(0);
      const findings = await examine();
      expect(told(findings).join('\n')).toContain(expected);
      expect(findings.every(({ severity }) => severity === 'damage')).toBe(true);
    });
  });

  it.each([
    ['anchor_entry', 'body_missing'],
    ['anchor_slot', 'anchor_wrong'],
    ['anchor_epoch', 'anchor_wrong'],
    ['anchor_head', 'anchor_wrong'],
  ])('fsck notices that rows of %s are missing', async (table, kind) => {
    await restoring(table, async () => {
      await tamper(database.pool, `delete from ${table}`);
      expect((await examine()).map((found) => found.kind)).toContain(kind);
    });
  });

  it('fsck names rows of the anchor that belong to no entry', async () => {
    const at = 5_000;
    await tamper(database.pool, `insert into anchor_entry values (${at}, sha256('x'), 'x')`);
    await tamper(database.pool, `insert into anchor_epoch values (${at}, sha256('x'), now())`);
    await tamper(database.pool, `insert into anchor_head values ('org_c', ${at + 1}, 1)`);
    await tamper(database.pool, `insert into anchor_timestamp values (${at}, 'tsa', now(), 'x')`);
    await tamper(database.pool, `insert into anchor_cosignature values (${at}, 'w', now(), 'x')`);
    expect(told(await examine('anchor'))).toEqual([
      'anchor_wrong anchor text 5000',
      'anchor_wrong anchor heads tree 5000',
      'anchor_wrong anchor anchored head 5001',
      'anchor_wrong anchor timestamp 5000',
      'anchor_wrong anchor cosignature 5000',
    ]);
    for (const table of ['entry', 'epoch', 'head']) {
      await tamper(database.pool, `delete from anchor_${table} where index >= ${at}`);
    }
    await tamper(database.pool, 'delete from anchor_timestamp');
    await tamper(database.pool, 'delete from anchor_cosignature');
    expect(await examine()).toEqual([]);
  });
});

describe('fsck of keys', () => {
  it('fsck accepts a rotation: what the old key signed is anchored before it was retired', async () => {
    const rotated = { ...first, state: 'retired', since: Date.now() } as const;
    await grow('org_a', signedBy('org_a', first));
    await writer.turn(worker, { keys: keys(rotated, second) });
    await grow('org_a', signedBy('org_a', second));
    await writer.turn(worker, { keys: keys(rotated, second) });
    expect(await examine()).toEqual([]);
  });

  it('fsck names what a retired key has signed since, and what an unknown key has signed', async () => {
    await grow('org_b', signedBy('org_b', first), signedBy('org_b', others[0]!));
    const waiting = await examine();
    // Both are of one millisecond, so either may come first.
    expect(waiting.map(({ kind }) => kind).toSorted()).toEqual(['key_ended', 'key_unfit']);
    expect(waiting.map(({ subject }) => subject)).toEqual(['receipts 1 to 1', 'receipts 2 to 2']);
    await writer.turn(worker);
    expect(told(await examine())).toEqual(told(waiting));
    await grow('org_c', signedBy('org_c', knownKey('receipts')));
    // Not anchored yet: the log may learn of the key in time.
    expect(told(await examine('org_c'))).toEqual([]);
    await writer.turn(worker);
    expect(await examine('org_c')).toMatchObject([
      { kind: 'key_unfit', severity: 'damage', subject: 'receipts 0 to 0' },
    ]);
  });

  it('fsck names what a compromised key has signed since, checkpoints included, for a person to look at', async () => {
    await writer.turn(worker, { keys: keys({ ...second, state: 'revoked', since: 0 }) });
    expect(told(await examine('org_a'))).toEqual([]);
    await tamper(
      database.pool,
      `insert into anchor_pending (key_id, purpose, from_index) values ($1, 'receipts', 0), ($2, 'checkpoints', $3)`,
      [second.key, signing[0]!.key, heads + 1],
    );
    await writer.turn(worker);
    expect(await examine('org_a')).toMatchObject([
      { kind: 'key_ended', severity: 'attention', subject: 'checkpoints 3 to 5' },
      { kind: 'key_ended', severity: 'attention', subject: 'receipts 4 to 4' },
    ]);
  });
});
