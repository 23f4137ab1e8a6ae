/** A pack with everything that packs can have, and what somebody with some keys can make of it. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTimestampAuthority } from '#shared/ledger/http/timestamp-authority.ts';
import { formatCheckpoint } from '#shared/ledger/checkpoints.ts';
import { append, EMPTY_FRONTIER, frontierRoot } from '#shared/ledger/frontier.ts';
import { leafHash } from '#shared/ledger/hashing.ts';
import { formatNote, noteKeyHash } from '#shared/ledger/notes.ts';
import { createAttestationStore } from '#shared/ledger/postgres/anchor-attestations.ts';
import { tablePath, TOTALS_TABLE } from '#shared/packs/layout.ts';
import { receiptRow, RECEIPTS_HEADER, totalsTable } from '#shared/packs/tables.ts';
import { createCheckpointSigner } from '#shared/receipts/signing/files/checkpoint-signer.ts';
import { loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { rotateSigningKey } from '#shared/receipts/signing/files/rotation.ts';
import { countedReceipt, PackTotals } from '#shared/packs/totals.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { UnsignedCredential } from '#shared/receipts/signing/signer.ts';
import { startAuthority } from '#test/support/attestors.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { ORG, PackLab } from '#test/support/packs.ts';
import { attest } from '#workers/ledger/attest.ts';
import type { LedgerEvents } from '#workers/ledger/events.ts';
import type { ForgedPack, Loose } from './tampering.ts';

export interface TamperLab {
  directory: string;
  /** The whole ledger, and a range of it with revisions that came later. */
  whole: string;
  range: string;
  trust: string;
  authority: string;
  lab: PackLab;
}

export async function startTamperLab(): Promise<TamperLab> {
  const database = await createTestDatabase();
  const directory = mkdtempSync(join(tmpdir(), 'docket-tamper-'));
  const lab = new PackLab(database.pool, directory);
  const stamps = await startAuthority();
  await lab.anchor();
  const degraded = await lab.issue(4, 'degraded');
  await lab.issue(2, 'refused');
  await lab.issue(4);
  await lab.integrate();
  await lab.anchor();
  rotateSigningKey(lab.keysDir, 'receipts', Date.now(), 0);
  rotateSigningKey(lab.keysDir, 'receipts', Date.now() + 1, 0);
  await lab.revise(degraded.slice(0, 2));
  await lab.issue(4);
  await lab.integrate();
  await lab.anchor();
  await lab.revise(degraded.slice(2, 3));
  const size = await lab.integrate();
  await lab.anchor();
  await attest({
    store: createAttestationStore(database.pool),
    authorities: [createTimestampAuthority(stamps.url)],
    witnesses: [],
    events: { attested: () => {} } satisfies Partial<LedgerEvents> as unknown as LedgerEvents,
  });
  const [whole, range] = [join(directory, 'whole.zip'), join(directory, 'range.zip')];
  await lab.pack(whole, { firstIndex: 0, lastIndex: size - 1, checkpointSize: size });
  await lab.pack(range, { firstIndex: 2, lastIndex: 13, checkpointSize: size });
  const [trust, authority] = [join(directory, 'did.json'), join(directory, 'authority.pem')];
  writeFileSync(trust, lab.documents.didDocument());
  writeFileSync(authority, stamps.certificate);
  return { directory, whole, range, trust, authority, lab };
}

/** Signs another ledger in the place of this one: other lines, their root, a head over it. For packs of a whole ledger. */
export function rewriteLedger(
  lab: PackLab,
  pack: ForgedPack,
  edit: (receipts: Loose[]) => Loose[],
): (seal: Loose) => void {
  const shard = pack.shard('receipts');
  const receipts = edit(
    pack
      .text(shard)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  );
  const signer = lab.signer('receipts');
  const bodies = receipts.map((receipt) => {
    const { proof: _, ...unsigned } = receipt;
    return receipt.edited === undefined
      ? JSON.stringify(receipt)
      : signer.signCredential(without(unsigned, 'edited') as UnsignedCredential);
  });
  pack.set(shard, bodies.map((body) => `${body}\n`).join(''));
  rewriteTable(pack, bodies);
  const leaves = bodies.map((body) => leafHash(Buffer.from(body)));
  const root = frontierRoot(append(EMPTY_FRONTIER, leaves).frontier);
  const heads = createCheckpointSigner(loadSigningKeys(lab.keysDir), 'checkpoints');
  const origin = lab.issuer.logs + ORG;
  const text = formatCheckpoint({ origin, size: bodies.length, root, extensions: [] });
  const keyHash = noteKeyHash(origin, heads.publicKey);
  const signatures = [{ name: origin, keyHash, signature: heads.sign(Buffer.from(text)) }];
  pack.set('data/ledger/checkpoint.txt', formatNote({ text, signatures }));
  for (const name of pack.files.keys()) {
    if (name.startsWith('data/ledger/checkpoints/')) pack.files.delete(name);
  }
  return ({ credentialSubject }) => {
    Object.assign(credentialSubject.checkpoint, {
      root: multihash32(root),
      size: bodies.length,
    });
    Object.assign(credentialSubject.range, {
      lastIndex: bodies.length - 1,
      receipts: bodies.length,
      signedHeads: 0,
    });
    credentialSubject.id = credentialSubject.id.replace(
      /-\d+-\d+-at-\d+$/,
      `-0-${bodies.length - 1}-at-${bodies.length}`,
    );
  };
}

/** The tables say of each line what it says now; when each was integrated and whether it counts stay as they were. */
function rewriteTable(pack: ForgedPack, bodies: readonly string[]): void {
  const path = tablePath(pack.shard('receipts'));
  const fronts = pack
    .text(path)
    .split('\n')
    .slice(1)
    .map((line) => line.split(',').slice(0, 2).join(','));
  const revised = new Map<number, number>();
  for (const name of pack.files.keys()) {
    if (!name.startsWith('data/superseded/')) continue;
    for (const line of pack.text(name).trimEnd().split('\n')) {
      const { index, by } = JSON.parse(line) as { index: number; by: number };
      revised.set(index, by);
    }
  }
  const totals = new PackTotals();
  const lines = bodies.map((body, i) => {
    const receipt = JSON.parse(body) as ReceiptDocument;
    if (!revised.has(i)) totals.add(countedReceipt(receipt));
    return `${fronts[i] || fronts.at(-2)},${receiptRow(receipt, i, revised.get(i) ?? null)}`;
  });
  pack.set(path, RECEIPTS_HEADER + lines.join(''));
  pack.set(TOTALS_TABLE, totalsTable(totals));
}

/** Nothing of the anchor is left, and the seal says of none. */
export function dropAnchor(pack: ForgedPack): (seal: Loose) => void {
  for (const name of pack.files.keys()) {
    if (name.startsWith('data/anchor/') || name === 'data/keys/events.ndjson') {
      pack.files.delete(name);
    }
  }
  return ({ credentialSubject }) => {
    delete credentialSubject.anchor;
  };
}

function without(value: Loose, name: string): Loose {
  const { [name]: _, ...rest } = value;
  return rest;
}

function multihash32(digest: Uint8Array): string {
  return `u${Buffer.concat([Buffer.of(0x12, 0x20), digest]).toString('base64url')}`;
}

/** Names that differ from run to run, and numbers, shown as what they are. */
export function steady(message: string): string {
  return message
    .replaceAll(/[A-Za-z0-9_-]{40,}/g, '…')
    .replaceAll(/rcpt_\w+|org_\w+/g, '…')
    .replaceAll(/\d+/g, 'n')
    .replaceAll(/[|`\\]/g, '')
    .slice(0, 100);
}
