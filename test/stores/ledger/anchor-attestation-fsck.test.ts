/** fsck of what others said of the anchor log: an authority made with OpenSSL, and a witness. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createTimestampAuthority } from '#shared/ledger/http/timestamp-authority.ts';
import { readKeptTimestamp } from '#shared/ledger/http/timestamp-tokens.ts';
import { createWitness, witnessOf } from '#shared/ledger/http/witness.ts';
import { createAttestationStore } from '#shared/ledger/postgres/anchor-attestations.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { verifyCosignature } from '#shared/ledger/cosignatures.ts';
import { parseNote } from '#shared/ledger/notes.ts';
import { attest } from '#workers/ledger/attest.ts';
import type { LedgerEvents } from '#workers/ledger/events.ts';
import { createAnchorWriter } from '#test/support/anchor.ts';
import { startAuthority, startWitness } from '#test/support/attestors.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { sample } from '#test/support/depth.ts';
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

const database = await createTestDatabase();
const worker = database.poolAs('docket_ledger', 6);
const operator = database.poolAs('docket_operator', 1);
const signer = makeCheckpointSigner();
const memory = makeCheckpointMemory();
const writer = createAnchorWriter();
const authority = await startAuthority();
const witness = await startWitness('witness.example/w1', writer.signer.publicKey);
const EPOCHS = 4;

const examine = (witnesses = [witnessOf(witness.setting)]) =>
  collectFindings(operator, {
    signatures: checkSignaturesOf([signer.publicKey]),
    anchorSignatures: checkSignaturesOf([writer.signer.publicKey]),
    attestations: { witnesses, verify: verifyCosignature, readTimestamp: readKeptTimestamp },
  });

beforeAll(async () => {
  const events = { attested() {}, attestationFailed() {} } satisfies Partial<LedgerEvents>;
  for (let epoch = 0; epoch < EPOCHS; epoch += 1) {
    await submitReceipts(database.pool, makeReceipts('org_a', 1));
    await integrateAll(worker);
    await publishCheckpoints(worker, { signer, memory, originOf, limit: 10, intervalMs: 0 });
    await writer.turn(worker);
    await database.pool.query(`update anchor_source set next_at = now() - interval '1 s'`);
    await attest({
      store: createAttestationStore(worker),
      authorities: [createTimestampAuthority(authority.url)],
      witnesses: [createWitness(witness.setting, verifyCosignature)],
      events: events as unknown as LedgerEvents,
    });
  }
});

interface Stored {
  size: string;
  response: Buffer;
  text: string;
}

async function storedTimestamps(): Promise<Stored[]> {
  const { rows } = await database.pool.query<Stored & { note: string }>(
    `select t.size, t.response, c.note from anchor_timestamp t
     join ledger_checkpoint c on c.org_id = 'anchor' and c.size = t.size order by t.size`,
  );
  return rows.map((row) => ({ ...row, text: parseNote(row.note).text }));
}

describe('fsck of attestations', () => {
  it('fsck finds nothing in attestations that are stored as they came', async () => {
    expect(await storedTimestamps()).toHaveLength(EPOCHS);
    expect(await examine()).toEqual([]);
  });

  it.each<[string, string, string, RegExp]>([
    [
      'a byte of a timestamp’s signature',
      'timestamp',
      'response = set_byte(response, length(response) - 9, get_byte(response, length(response) - 9) # 4)',
      /not signed by the certificate/,
    ],
    [
      'the certificate in a timestamp',
      'timestamp',
      'response = set_byte(response, 300, get_byte(response, 300) # 1)',
      /certificate/,
    ],
    [
      'the end of a timestamp',
      'timestamp',
      'response = substr(response, 1, length(response) - 1)',
      /not a timestamp response/,
    ],
    [
      'a timestamp, for that of another checkpoint',
      'timestamp',
      `response = (select response from anchor_timestamp o where o.size <> anchor_timestamp.size limit 1)`,
      /about something else/,
    ],
    [
      'the time of a timestamp',
      'timestamp',
      `time = time - interval '1 day'`,
      /stored beside it is another/,
    ],
    [
      'a character of a cosignature',
      'cosignature',
      `line = overlay(line placing (case when substr(line, 60, 1) = 'A' then 'B' else 'A' end) from 60 for 1)`,
      /does not verify|makes no sense|cannot be read/,
    ],
    [
      'a cosignature, for that of another checkpoint',
      'cosignature',
      `line = (select line from anchor_cosignature o where o.size <> anchor_cosignature.size limit 1)`,
      /does not verify/,
    ],
    [
      'the time of a cosignature',
      'cosignature',
      `time = time - interval '1 day'`,
      /stored beside it is another/,
    ],
    ['the witness of a cosignature', 'cosignature', `witness = 'other.example'`, /another witness/],
  ])(
    'fsck names a change of %s, and says what does not fit [evidence.append-only]',
    async (_what, kind, change, why) => {
      const table = `anchor_${kind}`;
      const [, second] = await storedTimestamps();
      await database.pool.query(`create table kept as table ${table}`);
      const changed = `update ${table} set ${change} where size = ${second!.size}`;
      expect(await tamper(database.pool, changed)).toBe(1);
      const [found, ...others] = (await examine()).filter(({ severity }) => severity === 'damage');
      expect(others).toEqual([]);
      expect(found).toMatchObject({ kind: 'attestation_wrong', orgId: 'anchor' });
      expect(found!.subject).toMatch(new RegExp(`^${kind} of checkpoint ${second!.size} by `));
      expect(found!.detail).toMatch(why);
      await tamper(database.pool, `delete from ${table}`);
      await tamper(database.pool, `insert into ${table} select * from kept`);
      await database.pool.query('drop table kept');
      expect(await examine()).toEqual([]);
    },
  );

  it(
    'fsck finds a change of any byte of a timestamp that has a meaning',
    { timeout: 60_000 },
    async () => {
      const [{ response, text }] = (await storedTimestamps()) as [Stored];
      const data = Buffer.from(text);
      const unnoticed: number[] = [];
      for (const at of sample([...response.keys()], () => 'byte')) {
        const changed = Buffer.from(response);
        changed[at]! ^= 1 << (at % 8);
        const time = await readKeptTimestamp(changed, data).catch(() => null);
        if (time !== null) unnoticed.push(at);
      }
      // Whether it was granted with modifications, and that an algorithm has no parameters: nothing rests on either.
      expect(unnoticed.length).toBeLessThanOrEqual(2);
    },
  );

  it('fsck says which cosignatures it cannot verify because it does not know the key', async () => {
    expect(await examine([])).toMatchObject([
      {
        kind: 'signatures_unchecked',
        severity: 'note',
        subject: 'cosignatures of witness.example/w1',
      },
    ]);
  });

  it('fsck says so when it was not asked to check attestations', async () => {
    const findings = await collectFindings(operator, {
      signatures: checkSignaturesOf([signer.publicKey]),
      anchorSignatures: checkSignaturesOf([writer.signer.publicKey]),
    });
    expect(findings).toMatchObject([{ kind: 'signatures_unchecked', subject: 'attestations' }]);
  });
});
