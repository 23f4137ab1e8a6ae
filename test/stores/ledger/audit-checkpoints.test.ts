import { beforeEach, describe, expect, it } from 'vitest';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { checkAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { signerOf } from '#shared/ledger/notes.ts';
import { auditLogOf } from '#shared/ledger/origins.ts';
import { createAnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import { auditCheckpoint, publishAuditHeads } from '#shared/ledger/postgres/audit-checkpoints.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { faultOfSignedHeads } from '#cli/audit/signed-heads.ts';
import { createAnchorWriter } from '#test/support/anchor.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import {
  checkSignaturesOf,
  collectFindings,
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
  tamper,
} from '#test/support/ledger.ts';

const signer = makeCheckpointSigner();
const ACTOR = { kind: 'operator', id: 'ada' } as const;

let database: TestDatabase;
let worker: ReturnType<TestDatabase['poolAs']>;
let memory = makeCheckpointMemory();
let writer = createAnchorWriter();

beforeEach(async () => {
  database = await createTestDatabase();
  worker = database.poolAs('docket_ledger', 4);
  memory = makeCheckpointMemory();
  writer = createAnchorWriter();
});

async function act(orgId: string, times = 1): Promise<void> {
  const log = createAuditLog(database.poolAs('docket_api', 1), systemSurroundings);
  for (let i = 0; i < times; i += 1) {
    await log.append({ orgId, action: 'key.issued', actor: ACTOR, details: { number: i } });
  }
}

const publish = () =>
  publishAuditHeads(worker, {
    signer,
    memory,
    originOf: (orgId) => `gateway.example/${auditLogOf(orgId)}`,
    limit: 10,
  });

async function ledgerOf(orgId: string): Promise<void> {
  await submitReceipts(database.pool, makeReceipts(orgId, 2));
  await integrateAll(worker);
  await publishCheckpoints(worker, { signer, memory, originOf, limit: 10, intervalMs: 0 });
}

const examine = () =>
  collectFindings(database.poolAs('docket_operator', 1), {
    signatures: checkSignaturesOf([signer.publicKey]),
    anchorSignatures: checkSignaturesOf([writer.signer.publicKey]),
    attestations: { witnesses: [], verify: () => false, readTimestamp: async () => 0 },
  });

describe('heads of audit logs', () => {
  it('are signed with the number and the hash of the last entry once they have grown, those of the service too', async () => {
    await act('org_a', 3);
    await act(SERVICE_CHAIN);
    expect(await publish()).toEqual({
      signed: [
        { orgId: 'audit/org_a', size: 3 },
        { orgId: 'audit/service', size: 1 },
      ],
      halted: [],
    });
    expect(await publish()).toEqual({ signed: [], halted: [] });
    const { rows } = await database.pool.query<{ hash: Buffer }>(
      `select hash from audit_head where org_id = 'org_a'`,
    );
    const text = await auditCheckpoint(database.pool, 'org_a');
    const { note, checkpoint } = parseCheckpoint(text!);
    expect(checkpoint).toMatchObject({ origin: 'gateway.example/audit/org_a', size: 3 });
    expect(Buffer.from(checkpoint.root)).toEqual(rows[0]!.hash);
    expect(signerOf(note, checkSignaturesOf([signer.publicKey]))).toBe(signer.publicKey);
    expect(await auditCheckpoint(database.pool, 'org_b')).toBe(null);
  });

  it('are signed by one worker at a time, and each once', async () => {
    await act('org_a', 2);
    const results = await Promise.all(Array.from({ length: 4 }, publish));
    expect(results.flatMap(({ signed }) => signed)).toEqual([{ orgId: 'audit/org_a', size: 2 }]);
    expect(results.flatMap(({ halted }) => halted)).toEqual([]);
  });

  it('are not signed for a chain of which the signed entry was written anew, and say so each time', async () => {
    await act('org_a', 3);
    await publish();
    await act('org_a');
    const rewrite = `update audit_log set hash = sha256(hash) where org_id = 'org_a' and sequence = 2`;
    await tamper(database.pool, rewrite);
    const refused = await publish();
    expect(refused.signed).toEqual([]);
    expect(refused.halted).toMatchObject([{ orgId: 'audit/org_a' }]);
    expect(await publish()).toEqual(refused);
    expect(parseCheckpoint((await auditCheckpoint(database.pool, 'org_a'))!).checkpoint.size).toBe(
      3,
    );
  });

  it('are not signed for a database that was restored from before what was published [evidence.audit-log]', async () => {
    await act('org_a', 5);
    await publish();
    // As an older backup has it, and acts went on from there.
    await tamper(database.pool, `delete from audit_log where org_id = 'org_a' and sequence >= 2`);
    await tamper(database.pool, 'delete from audit_checkpoint');
    await tamper(
      database.pool,
      `update audit_head h set size = 2, hash = (select hash from audit_log l where l.org_id = h.org_id and l.sequence = 1)`,
    );
    await act('org_a');
    const { signed, halted } = await publish();
    expect(signed).toEqual([]);
    expect(halted).toEqual([
      {
        orgId: 'audit/org_a',
        reason: 'its signed head has 5 entries, the audit log 3',
      },
    ]);
  });

  it('cannot be changed or removed, nor replaced by a smaller one', async () => {
    await act('org_a', 2);
    await publish();
    for (const change of [
      'update audit_checkpoint set size = 3',
      'delete from audit_checkpoint',
      'truncate audit_checkpoint',
      `insert into audit_checkpoint (log_id, size, hash, note) values ('audit/org_a', 1, sha256(''), 'x')`,
    ]) {
      await expect(database.pool.query(change), change).rejects.toThrow(
        /refused|append-only|larger|never/i,
      );
    }
  });

  it('are all that a ledger worker learns of an audit log', async () => {
    await act('org_a');
    for (const column of ['actor_id', 'address', 'subject', 'reason', 'details', 'action']) {
      await expect(worker.query(`select ${column} from audit_log`), column).rejects.toThrow(
        /permission denied/,
      );
    }
    await expect(worker.query(`update audit_head set size = 9`)).rejects.toThrow(
      /permission denied/,
    );
  });
});

describe('audit logs in the anchor', () => {
  it('an anchor proof leads from the signed head of each audit log to the anchor, beside those of ledgers [evidence.audit-log]', async () => {
    const reader = createAnchorReader(database.poolAs('docket_api', 2));
    await ledgerOf('org_a');
    await act('org_a', 2);
    await act('org_b', 1);
    await publish();
    expect((await writer.turn(worker)).heads).toMatchObject({ organisations: 3 });
    const proofs = await Promise.all(
      ['org_a', 'audit/org_a', 'audit/org_b'].map((log) => reader.proof(log)),
    );
    const shown = proofs.map((proof) => checkAnchorProof(proof!));
    expect(shown.map(({ head }) => [head.origin, head.size])).toEqual([
      ['gateway.example/log/org_a', 2],
      ['gateway.example/audit/org_a', 2],
      ['gateway.example/audit/org_b', 1],
    ]);
    expect(new Set(shown.map(({ slot }) => slot)).size).toBe(3);
    expect(await examine()).toEqual([]);
    expect((await writer.turn(worker)).heads).toBe(null);
    await act('org_b');
    await publish();
    expect((await writer.turn(worker)).heads).not.toBe(null);
    expect(await examine()).toEqual([]);
  });
});

describe('docket audit verify', () => {
  it.each([
    ['another hash', `update audit_checkpoint set hash = sha256(hash) where size = 2`],
    [
      'another note',
      `update audit_checkpoint set note = replace(note, e'\\n2\\n', e'\\n3\\n') where size = 2`,
    ],
    [
      'a note of another log',
      `update audit_checkpoint set note = replace(note, 'org_a', 'org_b') where size = 2`,
    ],
    [
      'another signature',
      `update audit_checkpoint set note = regexp_replace(note, '....=*\\n$', e'AAAA\\n') where size = 2`,
    ],
  ])('finds a signed head with %s', async (_, change) => {
    await act('org_a', 2);
    await publish();
    await act('org_a', 1);
    await publish();
    const signatures = checkSignaturesOf([signer.publicKey]);
    const operator = database.poolAs('docket_operator', 1);
    expect(await faultOfSignedHeads(operator, 'org_a', signatures)).toBe(null);
    await tamper(database.pool, change);
    expect(await faultOfSignedHeads(operator, 'org_a', signatures)).toEqual({
      sequence: 1,
      problem: 'signed_head_mismatch',
    });
  });
});
