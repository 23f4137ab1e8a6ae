/** A pack with everything that packs can have, and what a holder of some keys can make of it. */
import { generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTimestampAuthority } from '#shared/ledger/http/timestamp-authority.ts';
import { formatCheckpoint } from '#shared/ledger/checkpoints.ts';
import { append, EMPTY_FRONTIER, frontierRoot } from '#shared/ledger/frontier.ts';
import { leafHash } from '#shared/ledger/hashing.ts';
import { consistencyRanges } from '#shared/ledger/proofs.ts';
import { createWitness } from '#shared/ledger/http/witness.ts';
import { verifyCosignature } from '#shared/ledger/cosignatures.ts';
import {
  COSIGNATURE_TYPE,
  formatNote,
  ML_DSA_44_TYPE,
  NOTE_TYPE,
  noteKeyHash,
} from '#shared/ledger/notes.ts';
import { formatVerifierKey } from '#shared/ledger/verifier-keys.ts';
import { createAttestationStore } from '#shared/ledger/postgres/anchor-attestations.ts';
import { derivationKey } from '#shared/lineage/derivation-key.ts';
import { packLineage } from '#shared/lineage/pack-lineage.ts';
import { createMethodology } from '#shared/methodology/docket-1.ts';
import { docket1Document } from '#shared/methodology/docket-1-document.ts';
import type { MethodologyDocument } from '#shared/methodology/document.ts';
import type { FactorSet } from '#shared/methodology/factor-set.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import {
  ANCHORED_HEAD,
  derivationPath,
  lineagePath,
  shardPath,
  SUPERSEDED,
  tablePath,
  TOTALS_TABLE,
} from '#shared/packs/layout.ts';
import { LineageCoverage } from '#shared/packs/lineage-coverage.ts';
import type { LineageCounts } from '#shared/packs/seal-format.ts';
import {
  type Derivations,
  parseDerivation,
  wholeMeasurement,
} from '#shared/receipts/derivation.ts';
import { receiptRow, RECEIPTS_HEADER, totalsTable } from '#shared/packs/tables.ts';
import { createCheckpointSigner } from '#shared/receipts/signing/files/checkpoint-signer.ts';
import { loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { rotateSigningKey } from '#shared/receipts/signing/files/rotation.ts';
import { countedReceipt, PackTotals } from '#shared/packs/totals.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { witnessKey } from '#test/support/witness-key.ts';
import { startAuthority, startWitness } from '#test/support/attestors.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { ORG, PackLab } from '#test/support/packs.ts';
import { signedReceipt } from '#test/support/signed-receipt.ts';
import { type Attestors, attest } from '#workers/ledger/attest.ts';
import type { LedgerEvents } from '#workers/ledger/events.ts';
import { type ForgedPack, type Loose, multihash } from './tampering.ts';

export interface TamperLab {
  directory: string;
  /** The whole ledger, and a range of it with revisions that came later. */
  whole: string;
  range: string;
  /** Of a period of time, with entries before and after it. */
  period: string;
  /** Another history under the same keys and the same name, of the same size, wholly anchored; no witness has seen it. */
  split: string;
  /** Of an operator whose factor set makes two grids nearly clean, and cites the sources of the release for it. */
  own: string;
  /** The same under the name of the release, and computed with these factors while the document of the release is cited. */
  renamed: string;
  posing: string;
  trust: string;
  authority: string;
  /** Files of witness policies by what they ask for. */
  policies: Readonly<Record<PolicyName, string>>;
  lab: PackLab;
}

export type PolicyName = keyof ReturnType<typeof witnessPolicies>;

export async function startTamperLab(): Promise<TamperLab> {
  const database = await createTestDatabase();
  const directory = mkdtempSync(join(tmpdir(), 'docket-tamper-'));
  const lab = new PackLab(database.pool, directory);
  const stamps = await startAuthority();
  await lab.anchor();
  const degraded = await lab.issue(4, 'degraded');
  await lab.issue(2, 'refused');
  const measured = await lab.issue(4);
  await lab.integrate();
  await lab.anchor();
  rotateSigningKey(lab.keysDir, 'receipts', Date.now(), { publishedBeforeUseMs: 0 });
  rotateSigningKey(lab.keysDir, 'receipts', Date.now() + 1, { publishedBeforeUseMs: 0 });
  await lab.revise(degraded.slice(0, 2));
  const later = await lab.issue(4);
  await lab.integrate();
  await lab.anchor();
  await lab.revise(degraded.slice(2, 3));
  await lab.integrate();
  // What tiers and meters add: the factor of an hour, and energy that was metered.
  lab.gridSignal = {
    provider: 'Electricity Maps',
    signal: 'life cycle',
    version: 'an import',
    gwpKgco2ePerKwh: 0.042,
  };
  await lab.issue(1);
  // The next day's import is of another version.
  lab.gridSignal = { ...lab.gridSignal, version: 'another import' };
  await lab.issue(1);
  lab.gridSignal = undefined;
  lab.statedJoules = 12;
  await lab.issue(2);
  lab.statedJoules = undefined;
  await lab.issue(2, 'failed');
  await lab.revise([...measured.slice(1, 3), later[0]!], 24.5);
  const size = await lab.integrate();
  await lab.anchor();
  const [anchorKey] = loadSigningKeys(lab.keysDir).filter(({ purpose }) => purpose === 'anchor');
  const witnesses = await Promise.all(
    [
      ['one', COSIGNATURE_TYPE] as const,
      ['two', COSIGNATURE_TYPE] as const,
      ['two-pq', ML_DSA_44_TYPE] as const,
    ].map(([name, type]) => startWitness(`witness.example/${name}`, anchorKey!.publicKey, type)),
  );
  const attestors: Omit<Attestors, 'store'> = {
    authorities: [createTimestampAuthority(stamps.url)],
    witnesses: witnesses.map(({ setting }) => createWitness(setting, verifyCosignature)),
    events: {
      attested: () => {},
      attestationFailed: () => {},
    } satisfies Partial<LedgerEvents> as unknown as LedgerEvents,
  };
  await attest({ ...attestors, store: createAttestationStore(database.pool) });
  const [whole, range, period] = ['whole', 'range', 'period'].map((name) =>
    join(directory, `${name}.zip`),
  ) as [string, string, string];
  await lab.pack(whole, { firstIndex: 0, lastIndex: size - 1, checkpointSize: size });
  await lab.pack(range, { firstIndex: 2, lastIndex: 13, checkpointSize: size });
  const { rows } = await lab.pool.query<{ at: Date }>(
    'select integrated_at as at from ledger_entry where org_id = $1 order by index',
    [ORG],
  );
  const times = rows.map(({ at }) => at.getTime());
  // From the second batch to the one before the last.
  const [from, to] = [
    times.find((at) => at > times[0]!)!,
    times.findLast((at) => at < times.at(-1)!)! + 1,
  ];
  const inside = times.flatMap((at, i) => (at >= from && at < to ? [i] : []));
  await lab.pack(period, {
    firstIndex: inside[0]!,
    lastIndex: inside.at(-1)!,
    checkpointSize: size,
    period: { from, to },
  });
  const [trust, authority] = [join(directory, 'did.json'), join(directory, 'authority.pem')];
  writeFileSync(trust, lab.documents.didDocument());
  writeFileSync(authority, stamps.certificate);
  const split = await anotherHistory(lab, size, attestors);
  const released = newestFactorSet();
  const clean = withCleanGrids(released);
  const renamedDocument = docket1Document(clean, '1.0');
  const acme = { ...clean, version: `${released.version}-acme` };
  const [own, renamed, posing] = await Promise.all([
    ofFactors(lab, acme, docket1Document(acme, '1.0')),
    ofFactors(lab, clean, renamedDocument),
    ofFactors(lab, clean, docket1Document(released, '1.0')),
  ]);
  const policies = Object.fromEntries(
    Object.entries(witnessPolicies(witnesses.map(witnessKey), anchorKey!.publicKey)).map(
      ([name, lines]) => {
        const path = join(directory, `${name}.policy`);
        writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
        return [name, path];
      },
    ),
  ) as TamperLab['policies'];
  return {
    directory,
    whole,
    range,
    period,
    split,
    own,
    renamed,
    posing,
    trust,
    authority,
    policies,
    lab,
  };
}

/** Policies over two witnesses that have cosigned, one that never did, and one that has by ML-DSA-44. */
function witnessPolicies([one, two, postQuantum]: readonly string[], anchorKey: Uint8Array) {
  const named = [
    ...[one, two, witnessKey(ABSENT)].map((key, i) => `witness ${'abc'[i]} ${key}`),
    `witness pq ${postQuantum}`,
  ];
  return {
    two: [...named, 'group most 2 a b c', 'quorum most'],
    three: [...named, 'group all-of-them all a b c', 'quorum all-of-them'],
    postQuantum: [...named, 'quorum pq'],
    one: [...named, 'group some any a b c', 'quorum some'],
    none: [...named, 'quorum none'],
    log: [
      `log ${formatVerifierKey('gateway.example/anchor', NOTE_TYPE, anchorKey)}`,
      ...named,
      'quorum a',
    ],
    otherLog: [
      `log ${formatVerifierKey('other.example/anchor', NOTE_TYPE, anchorKey)}`,
      ...named,
      'quorum a',
    ],
    empty: ['quorum none'],
    malformed: ['# not yet', 'witness a b c', 'quorum a'],
  };
}

/** A witness that a policy names and that has never seen this log. */
export const ABSENT = {
  name: 'witness.example/three',
  type: COSIGNATURE_TYPE,
  publicKey: rawPublicKey(generateKeyPairSync('ed25519').publicKey),
};

/** The keys of a deployment in another directory, as a thief or the operator has them. */
function keysOf(lab: PackLab): string {
  const directory = mkdtempSync(join(tmpdir(), 'docket-tamper-'));
  cpSync(lab.keysDir, join(directory, 'keys'), { recursive: true });
  return directory;
}

/** As many receipts as the ledger has, others, in a ledger and an anchor log of their own that witnesses refuse. */
async function anotherHistory(
  lab: PackLab,
  size: number,
  attestors: Omit<Attestors, 'store'>,
): Promise<string> {
  const { pool } = await createTestDatabase();
  const other = new PackLab(pool, keysOf(lab));
  await other.anchor();
  await other.issue(size);
  await other.integrate();
  await other.anchor();
  await attest({ ...attestors, store: createAttestationStore(pool) });
  const path = join(other.keysDir, '..', 'split.zip');
  await other.pack(path, { firstIndex: 0, lastIndex: size - 1, checkpointSize: size });
  return path;
}

/** What a factor set says, but for two zones. */
function withCleanGrids(set: FactorSet): FactorSet {
  const grid = set.grid.map((zone) =>
    ['FRA', 'USA'].includes(zone.id) ? { ...zone, gwp_kgco2e_per_kwh: 0.0001 } : zone,
  );
  return { ...set, grid };
}

/** A pack of an operator that computes with these factors and cites this document. */
async function ofFactors(
  lab: PackLab,
  set: FactorSet,
  document: MethodologyDocument,
): Promise<string> {
  const { pool } = await createTestDatabase();
  const current = createMethodology(set, '1.0', document);
  const operator = new PackLab(pool, keysOf(lab), {
    ...shippedMethodologies(),
    current,
    methodology: () => current,
    methodologyDocument: () => document,
  });
  await operator.anchor();
  await operator.issue(3);
  const size = await operator.integrate();
  await operator.anchor();
  const path = join(operator.keysDir, '..', 'own.zip');
  await operator.pack(path, { firstIndex: 0, lastIndex: size - 1, checkpointSize: size });
  return path;
}

/**
 * Signs another ledger in the place of this one: other lines, their root, heads over it. For packs of a whole ledger. What
 * follows from the receipts is made again: links between them, tables, lineage, totals, counts.
 * @param edit gives the receipts as they are to be; one that says `edited` is signed anew, one that says `bare` as it stands
 */
export function rewriteLedger(
  lab: PackLab,
  pack: ForgedPack,
  edit: (receipts: Loose[]) => Loose[],
): (seal: Loose) => void {
  const shard = pack.shard('receipts');
  const table = tablePath(shard);
  const fronts = pack
    .text(table)
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(',')[0]!);
  const old = pack.text(shard).trimEnd().split('\n');
  const receipts = edit(old.map((line, was) => ({ ...JSON.parse(line), was })));
  const places = new Map<number, number>();
  for (const [i, { was }] of receipts.entries()) if (!places.has(was)) places.set(was, i);
  const bodies: string[] = [];
  for (const { was, edited, bare, ...receipt } of receipts) {
    bodies.push(signedAgain(lab, { receipt, edited, bare }, places, bodies) ?? old[was]!);
  }
  pack.set(shard, bodies.map((body) => `${body}\n`).join(''));
  const documents = bodies.map((body) => JSON.parse(body) as ReceiptDocument);
  const links = new Map<number, number>();
  for (const [by, { wasRevisionOf }] of documents.entries()) {
    if (wasRevisionOf !== undefined) links.set(wasRevisionOf.leafIndex, by);
  }
  removeAll(pack, 'data/superseded/');
  const lines = [...links].toSorted(([a], [b]) => a - b).map(([index, by]) => ({ by, index }));
  const superseded = shardPath(SUPERSEDED, 0);
  if (lines.length > 0) pack.set(superseded, lines.map((l) => `${JSON.stringify(l)}\n`).join(''));
  const totals = new PackTotals();
  let last = '';
  const rows = documents.map((document, i) => {
    const by = links.get(i) ?? null;
    if (by === null) totals.add(countedReceipt(document));
    const front = fronts[receipts[i]!.was]!;
    last = front > last ? front : last;
    return `${last},${by === null ? 1 : 0},${receiptRow(document, i, by)}`;
  });
  pack.set(table, RECEIPTS_HEADER + rows.join(''));
  pack.set(TOTALS_TABLE, totalsTable(totals));
  const lineage = rewriteLineage(lab, pack, bodies);
  const heads = rewriteHeads(lab, pack, bodies);
  return ({ credentialSubject }) => {
    Object.assign(credentialSubject, { lineage, totals: totals.total().document() });
    const size = bodies.length;
    Object.assign(credentialSubject.checkpoint, { root: heads.root, size });
    Object.assign(credentialSubject.range, {
      lastIndex: size - 1,
      receipts: size,
      signedHeads: heads.signedHeads,
      superseded: lines.length,
    });
    credentialSubject.id = credentialSubject.id.replace(
      /-\d+-\d+-at-\d+$/,
      `-0-${size - 1}-at-${size}`,
    );
  };
}

/** The line of a receipt that says something else now, or revises what does; undefined when it stays as it was. */
function signedAgain(
  lab: PackLab,
  { receipt, edited, bare }: { receipt: Loose; edited?: boolean; bare?: boolean },
  places: ReadonlyMap<number, number>,
  bodies: readonly string[],
): string | undefined {
  const revised = receipt.wasRevisionOf;
  const place = revised && places.get(revised.leafIndex);
  const body = place === undefined ? undefined : bodies[place];
  const digest = body === undefined ? undefined : multihash(Buffer.from(body));
  const moved = body !== undefined && (place !== revised.leafIndex || digest !== revised.digest);
  if (!moved && edited !== true && bare !== true) return undefined;
  const linked =
    moved && bare !== true
      ? { ...receipt, wasRevisionOf: { ...revised, digest, leafIndex: place } }
      : receipt;
  const { proof: _, ...unsigned } = linked;
  return signedReceipt(lab.signer('receipts'), unsigned);
}

function removeAll(pack: ForgedPack, folder: string): void {
  for (const name of pack.files.keys()) if (name.startsWith(folder)) pack.files.delete(name);
}

/** Documents of the first receipt of each derivation, as far as they can be made; otherwise those that were there. */
function rewriteLineage(lab: PackLab, pack: ForgedPack, bodies: readonly string[]): LineageCounts {
  const before = [...pack.files].filter(([name]) => name.startsWith('data/lineage/'));
  removeAll(pack, 'data/lineage/');
  const derivation: Derivations = (digest) => {
    const text = pack.files.get(derivationPath(digest))?.toString();
    return text === undefined ? undefined : parseDerivation(text, digest);
  };
  const coverage = new LineageCoverage();
  for (const [index, body] of bodies.entries()) {
    const document = JSON.parse(body) as ReceiptDocument;
    if (document.measurement === undefined) continue;
    const receipt = { bytes: Buffer.from(body), document, log: lab.issuer.logs + ORG, index };
    try {
      if (!coverage.take(derivationKey(wholeMeasurement(document.measurement, derivation)), 1))
        continue;
      const sources = { ...shippedMethodologies(), derivation };
      pack.set(lineagePath(index), packLineage(sources, receipt));
    } catch {
      const there = before.find(([name]) => name === lineagePath(index)) ?? before[0]!;
      pack.set(lineagePath(index), there[1]);
    }
  }
  return { ...coverage.counts(), type: 'PackLineage' };
}

/** Heads of the new ledger in the place of those of the old one, as far as it reaches. */
function rewriteHeads(lab: PackLab, pack: ForgedPack, bodies: readonly string[]) {
  const leaves = bodies.map((body) => leafHash(Buffer.from(body)));
  const rootAt = (size: number): Uint8Array =>
    frontierRoot(append(EMPTY_FRONTIER, leaves.slice(0, size)).frontier);
  const history = pack.shard('ledger/checkpoints');
  const sizes = pack
    .text(history)
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { size: number }).size)
    .filter((size) => size <= bodies.length);
  const notes = sizes.map((size) => ({ note: signedHead(lab, size, rootAt(size)), size }));
  pack.set(history, notes.map((line) => `${JSON.stringify(line)}\n`).join(''));
  if (notes.length === 0) pack.files.delete(history);
  const root = rootAt(bodies.length);
  pack.set('data/ledger/checkpoint.txt', signedHead(lab, bodies.length, root));
  return { root: multihashOfDigest(root), signedHeads: notes.length };
}

/** A head, well signed; by another of the issuer's keys where one is named. */
export function signedHead(
  lab: PackLab,
  size: number,
  root: Uint8Array,
  purpose: 'checkpoints' | 'receipts' = 'checkpoints',
  extensions: readonly string[] = [],
): string {
  const heads = createCheckpointSigner(loadSigningKeys(lab.keysDir), purpose as 'checkpoints');
  const origin = lab.issuer.logs + ORG;
  const text = formatCheckpoint({ origin, size, root, extensions });
  const keyHash = noteKeyHash(origin, heads.publicKey);
  const signatures = [{ name: origin, keyHash, signature: heads.sign(Buffer.from(text)) }];
  return formatNote({ text, signatures });
}

/** Shows anew that the ledger continues each anchored head in the pack. Returns what the seal says of the newest. */
export function continueHeads(pack: ForgedPack): { headSize: number; timestamps: number } {
  const lines = pack.text(pack.shard('receipts')).trimEnd().split('\n');
  const leaves = lines.map((line) => leafHash(Buffer.from(line)));
  const rootOf = ({ start, end }: { start: number; end: number }): Uint8Array =>
    frontierRoot(append(EMPTY_FRONTIER, leaves.slice(start, end)).frontier);
  let newest = { headSize: 0, timestamps: 0 };
  for (const path of pack.files.keys()) {
    if (!path.startsWith('data/anchor/')) continue;
    const file = JSON.parse(pack.text(path));
    const size = Number(file.proof.checkpoint.split('\n')[1]);
    file.consistency = consistencyRanges(size, lines.length).map((range) =>
      Buffer.from(rootOf(range)).toString('base64'),
    );
    pack.set(path, `${JSON.stringify(file, null, 2)}\n`);
    if (path === ANCHORED_HEAD)
      newest = { headSize: size, timestamps: file.proof.timestamps.length };
  }
  return newest;
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

export function multihashOfDigest(digest: Uint8Array): string {
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
