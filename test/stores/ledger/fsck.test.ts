import { beforeEach, describe, expect, it } from 'vitest';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import type { SignatureCheck } from '#shared/ledger/notes.ts';
import type { Finding } from '#cli/fsck/findings.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  checkSignaturesOf,
  collectFindings,
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipt,
  makeReceipts,
  originOf,
  submitReceipts,
  tamper,
} from '#test/support/ledger.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts');
const ledger = database.poolAs('docket_ledger');
const operator = database.poolAs('docket_operator');
const signer = makeCheckpointSigner();
const memory = makeCheckpointMemory();

function fsck(
  orgId?: string,
  signatures: SignatureCheck | null = checkSignaturesOf([signer.publicKey]),
): Promise<Finding[]> {
  return collectFindings(operator, { signatures, ...(orgId === undefined ? {} : { orgId }) });
}

/** A log of 600 entries, two full tiles, signed at 300 and 600. */
async function makeLog(orgId: string): Promise<void> {
  for (let i = 0; i < 2; i += 1) {
    await submitReceipts(receipts, makeReceipts(orgId, 300));
    await integrateAll(ledger);
    const cose = { issuer: 'did:web:gateway.example', kid: 'did:web:gateway.example#heads' };
    await publishCheckpoints(ledger, { signer, memory, originOf, cose, limit: 100, intervalMs: 0 });
  }
}

let orgId = '';
let orgs = 0;
beforeEach(() => {
  orgs += 1;
  orgId = `org_${orgs}`;
});

describe('fsck', () => {
  it('fsck finds nothing in a sound ledger, and counts up to its end', async () => {
    await makeLog(orgId);
    await submitReceipts(receipts, makeReceipts(`${orgId}b`, 7));
    await integrateAll(ledger);
    await submitReceipts(receipts, makeReceipts(orgId, 3));
    const progress: [number, number][] = [];
    const options = {
      signatures: checkSignaturesOf([signer.publicKey]),
      onProgress: (done: number, total: number) => progress.push([done, total]),
    };
    expect(await collectFindings(operator, options)).toEqual([]);
    expect(progress.at(-1)).toEqual([607, 607]);
    await integrateAll(ledger);
    expect(await fsck()).toEqual([]);
  });

  it('fsck says that signatures were not checked, and finds those of an unknown key', async () => {
    await makeLog(orgId);
    expect(await fsck(orgId, null)).toMatchObject([
      { kind: 'signatures_unchecked', severity: 'note' },
    ]);
    const found = await fsck(orgId, checkSignaturesOf([makeCheckpointSigner().publicKey]));
    expect(found).toMatchObject([
      { kind: 'checkpoint_wrong', subject: 'checkpoint of 300' },
      { kind: 'checkpoint_wrong', subject: 'checkpoint of 600' },
    ]);
  });

  it('fsck examines only the organisation that it is asked for', async () => {
    await makeLog(orgId);
    await makeLog(`${orgId}b`);
    await tamper(database.pool, `update ledger_head set root = sha256(root) where org_id = $1`, [
      `${orgId}b`,
    ]);
    expect(await fsck(orgId)).toEqual([]);
    expect(await fsck(`${orgId}b`)).toMatchObject([{ kind: 'head_wrong', orgId: `${orgId}b` }]);
    await tamper(database.pool, `delete from ledger_head where org_id = $1`, [`${orgId}b`]);
    expect(await fsck(`${orgId}b`)).toMatchObject([{ kind: 'head_missing' }]);
  });
});

describe('fsck names what a superuser has changed [survives.edits]', () => {
  const flip = (column: string, byte: number): string =>
    `${column} = set_byte(${column}, ${byte}, get_byte(${column}, ${byte}) # 1)`;
  const entryAt = (index: number): string =>
    `(select entry_id from ledger_entry where org_id = $1 and index = ${index})`;

  it.each([
    [
      'one bit of a body in a full tile',
      `update ledger_body set ${flip('body', 3)} where entry_id = ${entryAt(17)} and $1 = $1`,
      [['body_altered', 'entry 17 ']],
    ],
    [
      'one bit of a body in the last tile',
      `update ledger_body set ${flip('body', 3)} where entry_id = ${entryAt(599)} and $1 = $1`,
      [['body_altered', 'entry 599 ']],
    ],
    [
      'the promise beside a body',
      `update ledger_body set ${flip('leaf_hash', 0)} where entry_id = ${entryAt(2)}`,
      [['body_altered', 'entry 2 ']],
    ],
    [
      'one bit of a leaf in a full tile',
      `update ledger_entry set ${flip('leaf_hash', 31)} where org_id = $1 and index = 300`,
      [['leaf_altered', 'entry 300 ']],
    ],
    [
      'one bit of a leaf in the last tile',
      `update ledger_entry set ${flip('leaf_hash', 31)} where org_id = $1 and index = 598`,
      [['leaf_altered', 'entry 598 ']],
    ],
    [
      'one bit of a tile',
      `update ledger_tile set ${flip('hashes', 32 * 5 + 1)} where org_id = $1 and index = 1`,
      [['tile_altered', 'tile 0/001']],
    ],
    [
      'the root of a tile',
      `update ledger_tile set ${flip('root', 0)} where org_id = $1 and index = 0`,
      [['tile_altered', 'tile 0/000']],
    ],
    [
      'one bit of the head’s root',
      `update ledger_head set ${flip('root', 8)} where org_id = $1`,
      [['head_wrong', 'head at 600']],
    ],
    [
      'one bit of the frontier',
      `update ledger_head set ${flip('frontier', 8)} where org_id = $1`,
      [['head_wrong', 'head at 600']],
    ],
    [
      'the size published',
      `update ledger_head set checkpoint_size = 599 where org_id = $1`,
      [
        ['head_wrong', 'head at 600'],
        ['checkpoint_wrong', 'checkpoint of 600'],
      ],
    ],
    [
      'one bit of a checkpoint’s root',
      `update ledger_checkpoint set ${flip('root', 8)} where org_id = $1 and size = 300`,
      [['checkpoint_wrong', 'checkpoint of 300']],
    ],
    [
      'a checkpoint’s signature',
      `update ledger_checkpoint set note = regexp_replace(note, '....=\n$', E'AAAA=\n') where org_id = $1 and size = 300`,
      [['checkpoint_wrong', 'checkpoint of 300']],
    ],
    [
      'a checkpoint’s text',
      `update ledger_checkpoint set note = replace(note, E'\n300\n', E'\n301\n') where org_id = $1 and size = 300`,
      [['checkpoint_wrong', 'checkpoint of 300']],
    ],
    [
      'one bit of a checkpoint’s signature for COSE',
      `update ledger_checkpoint set ${flip('cose_signature', 8)} where org_id = $1 and size = 300`,
      [['checkpoint_wrong', 'checkpoint of 300']],
    ],
    [
      'what a checkpoint signs for COSE',
      `update ledger_checkpoint set cose_protected = c.cose_protected, cose_signature = c.cose_signature
       from ledger_checkpoint c where c.org_id = $1 and c.size = 600
         and ledger_checkpoint.org_id = $1 and ledger_checkpoint.size = 300`,
      [['checkpoint_wrong', 'checkpoint of 300']],
    ],
    [
      'a header for COSE into rubbish',
      `update ledger_checkpoint set cose_protected = '\\x00' where org_id = $1 and size = 300`,
      [['checkpoint_wrong', 'checkpoint of 300']],
    ],
    [
      'a checkpoint into rubbish',
      `update ledger_checkpoint set note = 'x' where org_id = $1 and size = 300`,
      [['checkpoint_wrong', 'checkpoint of 300']],
    ],
    [
      'a removed body',
      `delete from ledger_body where entry_id = ${entryAt(9)}`,
      [['body_missing', 'entry 9 ']],
    ],
    [
      'a removed entry',
      `delete from ledger_entry where org_id = $1 and index = 255`,
      [
        ['entry_missing', 'entry 255 '],
        ['receipt_lost', 'rcpt_'],
      ],
    ],
    [
      'a removed tile',
      `delete from ledger_tile where org_id = $1 and index = 1`,
      [['tile_missing', 'tile 0/001']],
    ],
    [
      'a removed last entry',
      `delete from ledger_entry where org_id = $1 and index = 599`,
      [
        ['entry_missing', 'entry 599'],
        ['receipt_lost', 'rcpt_'],
      ],
    ],
  ])('fsck finds a change of %s', async (_what, statement, expected) => {
    await makeLog(orgId);
    expect(await tamper(database.pool, statement, [orgId])).toBe(1);
    const found = await fsck(orgId);
    expect(found.map(({ kind, subject, severity }) => [kind, subject, severity])).toEqual(
      expected.map(([kind, subject]) => [kind, expect.stringContaining(subject!), 'damage']),
    );
  });

  it('fsck finds a head that forgot the end of its log', async () => {
    await makeLog(orgId);
    const { rows } = await database.pool.query(
      `select size, root from ledger_checkpoint where org_id = $1 and size = 300`,
      [orgId],
    );
    await tamper(
      database.pool,
      `update ledger_head set size = 300, checkpoint_size = 300, root = $2 where org_id = $1`,
      [orgId, (rows[0] as { root: Buffer }).root],
    );
    const kinds = new Set((await fsck(orgId)).map((each) => each.kind));
    expect(kinds).toEqual(
      new Set(['head_wrong', 'checkpoint_wrong', 'entry_beyond_head', 'tile_beyond_head']),
    );
  });

  it('fsck finds all copies of a hash changed alike, because the checkpoints contradict them [evidence.append-only]', async () => {
    await makeLog(orgId);
    const change = async (table: string, set: string, where: string): Promise<void> => {
      expect(
        await tamper(database.pool, `update ${table} set ${set} where ${where}`, [orgId]),
      ).toBe(1);
    };
    const body = `'{}'::bytea`;
    const leaf = `sha256('\\x00'::bytea || ${body})`;
    await change('ledger_body', `body = ${body}, leaf_hash = ${leaf}`, `entry_id = ${entryAt(4)}`);
    await change('ledger_entry', `leaf_hash = ${leaf}`, 'org_id = $1 and index = 4');
    await change(
      'ledger_tile',
      `hashes = overlay(hashes placing ${leaf} from ${4 * 32 + 1})`,
      'org_id = $1 and index = 0',
    );
    expect((await fsck(orgId)).map(({ kind, subject }) => [kind, subject])).toEqual([
      ['tile_altered', 'tile 0/000'],
      ['checkpoint_wrong', 'checkpoint of 300'],
      ['checkpoint_wrong', 'checkpoint of 600'],
      ['head_wrong', 'head at 600'],
      ['head_wrong', 'head at 600'],
    ]);
  });
});

describe('fsck tells what waits for a person', () => {
  it('fsck tells of late promises, receipts in quarantine and halted logs', async () => {
    await makeLog(orgId);
    const [late, poison] = [makeReceipt(orgId), makeReceipt(orgId, { leafHash: Buffer.alloc(32) })];
    await submitReceipts(receipts, [poison]);
    await integrateAll(ledger);
    await submitReceipts(receipts, [late]);
    await tamper(
      database.pool,
      `update receipt_pending set submitted_at = now() - interval '11 s' where entry_id = $1`,
      [late.id],
    );
    await tamper(
      database.pool,
      `update ledger_head set halted_at = now(), halt_reason = 'for a test' where org_id = $1`,
      [orgId],
    );
    expect(await fsck(orgId)).toMatchObject([
      { kind: 'log_halted', severity: 'attention', detail: expect.stringContaining('for a test') },
      { kind: 'pending_late', severity: 'attention', subject: late.id },
      {
        kind: 'quarantined',
        severity: 'attention',
        subject: poison.id,
        detail: expect.stringContaining('body_altered'),
      },
    ]);
  });
});
