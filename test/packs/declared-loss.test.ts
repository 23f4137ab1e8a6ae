/** A ledger that goes on after a declared loss: its packs say so, and a false statement is found. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { declareLosses } from '#cli/loss/declaration.ts';
import type { PackVerdict } from '#cli/verify/judge-pack.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { CheckpointSigner } from '#shared/ledger/checkpoints.ts';
import { parseLoss, signedLoss, type LossStatement } from '#shared/ledger/losses.ts';
import { logOrigins } from '#shared/ledger/origins.ts';
import { createCheckpointSigner } from '#shared/receipts/signing/files/checkpoint-signer.ts';
import { loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { copyOf } from '#test/support/backup.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { makeCheckpointSigner } from '#test/support/ledger.ts';
import { type PythonVerdict, verifyWithPython } from '#test/support/pack-script.ts';
import { ORG, PackLab, PUBLIC_URL } from '#test/support/packs.ts';
import { ForgedPack } from './tampering.ts';

const directory = await mkdtemp(join(tmpdir(), 'docket-loss-'));
atFileEnd(() => rm(directory, { recursive: true }));
const before = new PackLab((await createTestDatabase()).pool, directory);
const TRUST = join(directory, 'did.json');
const memory = before.memory;
const GOOD = join(directory, 'good.zip');
const PLACE = 'data/ledger/losses.ndjson';
let after: PackLab;
/** What the ledger worker did before and after the declarations. */
const seen = { signed: [] as number[], anchorHalted: [] as (string | null)[] };

const signerOf = (purpose: 'checkpoints' | 'anchor'): CheckpointSigner =>
  createCheckpointSigner(loadSigningKeys(before.keysDir), purpose);

const declare = (lab: PackLab, orgId: string) =>
  declareLosses(
    lab.pool,
    { orgId, actor: { kind: 'operator', id: 'ada' }, reason: 'the disk failed' },
    {
      memory: lab.memory,
      origins: logOrigins(PUBLIC_URL),
      surroundings: systemSurroundings,
      witnessed: 0,
      signers: { checkpoints: signerOf('checkpoints'), anchor: signerOf('anchor') },
    },
  );

/** A backup, more that is published, the backup put back, and what is issued then. */
beforeAll(async () => {
  await before.issue(30);
  await before.integrate();
  await before.anchor();
  after = new PackLab((await copyOf(before.pool)).pool, directory);
  after.memory = memory;
  after.made = 1_000;
  await before.issue(7);
  await before.integrate();
  await before.anchor();

  await after.issue(4);
  seen.signed.push(await after.integrate());
  await declare(after, ORG);
  await after.issue(2);
  seen.signed.push(await after.integrate());
  seen.anchorHalted.push((await after.anchor()).halted);
  await declare(after, 'anchor');
  seen.anchorHalted.push((await after.anchor()).halted);
  await after.pack(GOOD, { firstIndex: 0, lastIndex: 35, checkpointSize: 36 });
  await writeFile(TRUST, before.documents.didDocument());
});

const judged = async (path: string): Promise<[PackVerdict, PythonVerdict]> => [
  await verifyPack(path, { didJson: before.documents.didDocument(), now: Date.now() }),
  await verifyWithPython(path, TRUST),
];

const statementIn = (pack: ForgedPack): LossStatement =>
  parseLoss((JSON.parse(pack.text(PLACE)) as { note: string }).note).statement;

const replaceNote = (pack: ForgedPack, edit: (note: string) => string): void =>
  pack.lines(PLACE, ([line]) => {
    const parsed = JSON.parse(line!) as { consistency: string[]; note: string };
    return [JSON.stringify({ ...parsed, note: edit(parsed.note) })];
  });

const signedAnew =
  (change: Partial<LossStatement>, signer = signerOf('checkpoints')) =>
  (pack: ForgedPack): void =>
    replaceNote(pack, () => signedLoss({ ...statementIn(pack), ...change }, signer));

describe('a pack over a declared loss [survives.declared-loss]', () => {
  it('is of a log that signs nothing before the declaration, and goes on after it, as the anchor does', () => {
    expect(seen.signed).toEqual([30, 36]);
    expect(seen.anchorHalted).toEqual([
      expect.stringContaining('of what was published before'),
      null,
    ]);
  });

  it('is good to both verifiers, which say what was published and is lost before all else', async () => {
    const [verdict, python] = await judged(GOOD);
    expect([verdict.code, verdict.message]).toEqual(['good', expect.any(String)]);
    expect(verdict.losses).toMatchObject([
      {
        log: `gateway.example/log/${ORG}`,
        generation: 2,
        published: { size: 37 },
        kept: { size: 30 },
      },
      { log: 'gateway.example/anchor', generation: 2 },
    ]);
    expect(verdict.heads).toBe(2);
    expect(python.output).toMatch(
      /^GOOD, .*\nSAID: of 37 entries published, those after the first 30 are lost: declared on \S+Z by operator:ada \(the disk failed\)\nSAID of the anchor log: /,
    );
    expect(python.code).toBe(0);
  });

  it.each<[string, (pack: ForgedPack) => void]>([
    [
      'says that less was published than is signed',
      (pack) => replaceNote(pack, (note) => note.replace('published 37 ', 'published 31 ')),
    ],
    ['is signed by a key of another', signedAnew({}, makeCheckpointSigner())],
    ['is signed by the key of the anchor', signedAnew({}, signerOf('anchor'))],
    ['is of another organisation', signedAnew({ log: 'gateway.example/log/org_other' })],
    [
      'keeps another tree than goes on',
      signedAnew({ kept: { size: 30, root: Buffer.alloc(32, 1) } }),
    ],
    ['keeps less than goes on', signedAnew({ kept: { size: 0, root: Buffer.alloc(32, 1) } })],
    ['opens another tree', signedAnew({ generation: 3 })],
    ['is left out', (pack) => void pack.files.delete(PLACE)],
    ['stands there twice', (pack) => pack.lines(PLACE, ([line]) => [line!, line!])],
  ])('is refused when the statement %s', async (_what, edit) => {
    const pack = new ForgedPack(GOOD);
    edit(pack);
    pack.repair(before.signer('packs'));
    const path = join(directory, 'forged.zip');
    await pack.write(path);
    const [verdict, python] = await judged(path);
    const code = expect.toBeOneOf(['loss_invalid', 'key_outside_interval']) as unknown;
    expect([verdict.code, python.code]).toEqual([code, 1]);
  });
});

it('a second tree under the name of the first stays BAD, as there is no statement of it', async () => {
  const other = new PackLab((await createTestDatabase()).pool, directory);
  await other.issue(3);
  await other.integrate();
  const pack = new ForgedPack(GOOD);
  const { rows } = await other.pool.query<{ note: string }>('select note from ledger_checkpoint');
  const shard = pack.shard('ledger/checkpoints');
  pack.lines(shard, (lines) => [JSON.stringify({ note: rows[0]!.note, size: 3 }), ...lines]);
  pack.set('data/ledger/checkpoints/000000000003.ndjson', pack.text(shard));
  pack.files.delete(shard);
  pack.repair(before.signer('packs'));
  const path = join(directory, 'split.zip');
  await pack.write(path);
  const [verdict, python] = await judged(path);
  expect([verdict.code, python.code]).toEqual(['root_mismatch', 1]);
});
