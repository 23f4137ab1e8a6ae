import { digestBytesIn } from '#shared/kernel/multihash.ts';
import { sha256 } from '#primitives';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { HASH_BYTES } from '#shared/ledger/hashing.ts';
import { derivationPath, DERIVATIONS_MAX, SHARD_LINES_MAX } from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import {
  type ReportedEntry,
  reportedEntry,
  ReportFacts,
  type ReportParts,
} from '#shared/packs/report/facts.ts';
import { countedReceipt, PackTotals, type PackTotalsParts } from '#shared/packs/totals.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import {
  type DerivationDocument,
  derivationDigest,
  type Derivations,
  parseDerivation,
  type WholeMeasurement,
  wholeMeasurement,
} from '#shared/receipts/derivation.ts';
import { disagreement } from '#shared/receipts/agreement.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { repeatedBefore, repeatedOf } from '#shared/receipts/repeated.ts';
import {
  CLOCK_SKEW_MS,
  type ReceiptVerdict,
  type TrustedKeys,
  verifyReceipt,
} from '#shared/receipts/verify.ts';
import { type Claims, claimsOf, joined, noClaims } from './claims.ts';
import { ShardTable, type TableFindings } from './shard-table.ts';
import { linesOf, textOf } from './lines.ts';
import { checkDigest, type PackedFile, readPacked, reusedBuffer } from './pack-file.ts';
import {
  type LineageFindings,
  type PackedLineage,
  ShardLineage,
  type ShardTools,
} from './shard-lineage.ts';

/** Facts that every receipt of a pack must agree with. */
export interface ShardTerms {
  /** did.json that is trusted. */
  didJson: string;
  issuer: string;
  organisation: string;
  log: string;
  /** Epoch milliseconds. */
  now: number;
  /** When the pack was sealed, in epoch milliseconds: its receipts are older. */
  sealedAt: number;
  /** Ids of the keys in the pack. */
  published: ReadonlySet<string>;
  /** Texts of the derivation records in the pack, by the digest that each has. */
  derivations: ReadonlyMap<string, string>;
}

/** One shard to be judged, as it is handed to a thread. */
export interface ShardTask {
  file: PackedFile;
  /** Hex, from the manifest. */
  sha256: string;
  /** Index of each line: the first's, or one each. */
  indexes: number | Float64Array;
  /** Entries of the shard that were revised, and by which, in order. */
  superseded: { index: number; by: number }[];
  /** Lineage documents of receipts in the shard. */
  lineage: PackedLineage[];
  /** Its table; a pack that lacks it is refused, unless a graver problem is found first. */
  table?: { file: PackedFile; sha256: string };
}

/** A receipt that revises or was revised. Whether it counts depends on entries outside the shard. */
interface RevisionFact {
  index: number;
  supersededBy: number | null;
  digest: Uint8Array;
  revises: { leafIndex: number; digest: Uint8Array } | null;
  /** What it repeats of the receipt before it, and what the one after it has to repeat. */
  repeated: { own: Uint8Array; before: readonly Uint8Array[] };
  reported: ReportedEntry;
  /** What the table says: does it count? Undefined where there is no table. */
  statedCounts: boolean | undefined;
}

/** A context or methodology that receipts cite. */
export interface Citation {
  kind: 'context' | 'methodology' | 'derivation';
  id: string;
  name: string;
  version: string;
  digest: string;
}

export interface ShardFindings {
  lines: number;
  /** One after the other. */
  leafHashes: Uint8Array;
  /** 8 bytes of a digest of the inference of each receipt that revises nothing: none of them stands twice. */
  inferences: BigUint64Array;
  /** The same of salts and digests, each of which is of one request. */
  once: BigUint64Array;
  /** The first receipt that says two things at once, and of what. A signature that does not fit is told first. */
  disagreement?: { index: number; said: string };
  /** What its receipts say that nothing confirms. */
  claims: Claims;
  /** Of the receipts that neither revise nor were revised. */
  totals: PackTotalsParts;
  report: ReportParts;
  revisions: RevisionFact[];
  citations: Citation[];
  lineage: LineageFindings;
  /** The first receipt of a format that is not known: of it nothing was judged but its leaf and its context. */
  unknown?: { index: number; context: string };
  table?: TableFindings;
  /** Keys that signed, with how many receipts each, and the last of them. */
  signers: { kid: string; receipts: number; lastIndex: number }[];
}

/** More different contexts, methodologies and derivations than there will ever be. */
const CITATIONS_MAX = 256 + DERIVATIONS_MAX;

/** Judges every receipt of a shard. @throws PackProblem for the first that is not good */
export function judgeShard(
  tools: ShardTools,
  terms: ShardTerms,
  task: ShardTask,
  onLines: (lines: number) => void = () => {},
): ShardFindings {
  const { archive } = tools;
  const bytes = readPacked(archive, task.file, shardBuffer);
  checkDigest(bytes, task.sha256, task.file.path);
  let table: ShardTable | undefined;
  if (task.table !== undefined) {
    const rows = readPacked(archive, task.table.file, tableBuffer);
    checkDigest(rows, task.table.sha256, task.table.file.path);
    table = new ShardTable(rows, task.table.file.path, terms.sealedAt);
  }
  return new ShardJudge(tools, terms, task, table).judge(bytes, onLines);
}

/** One for all shards of a thread. */
const shardBuffer = reusedBuffer();
const tableBuffer = reusedBuffer();

let parsedDerivations: {
  texts: ShardTerms['derivations'];
  documents: Map<string, DerivationDocument>;
};

/** Records are read when a receipt names them, once in a thread. @throws MalformedData */
function derivationsIn(texts: ShardTerms['derivations']): Derivations {
  if (parsedDerivations?.texts !== texts) parsedDerivations = { texts, documents: new Map() };
  const { documents } = parsedDerivations;
  return (digest) => {
    const known = documents.get(digest);
    const text = texts.get(digest);
    if (known !== undefined || text === undefined) return known;
    const document = parseDerivation(text, digest);
    documents.set(digest, document);
    return document;
  };
}

let cachedKeys: { didJson: string; keys: TrustedKeys } | undefined;

/** A thread judges many shards with the same keys. */
function keysOf(didJson: string): TrustedKeys {
  if (cachedKeys?.didJson !== didJson) cachedKeys = { didJson, keys: trustedKeysOf(didJson) };
  return cachedKeys.keys;
}

/** Lines between two messages about progress. */
const PROGRESS_LINES = 500;

class ShardJudge {
  readonly #terms: ShardTerms;
  readonly #task: ShardTask;
  readonly #keys: TrustedKeys;
  readonly #totals = new PackTotals();
  readonly #report = new ReportFacts();
  readonly #revisions: RevisionFact[] = [];
  readonly #inferences: bigint[] = [];
  readonly #once: bigint[] = [];
  #claims = noClaims();
  #disagreement: ShardFindings['disagreement'];
  #unknown: ShardFindings['unknown'];
  readonly #citations = new Map<string, Citation>();
  readonly #signers = new Map<string, { receipts: number; lastIndex: number }>();
  readonly #lineage: ShardLineage;
  readonly #derivations: Derivations;
  readonly #table: ShardTable | undefined;
  #nextSuperseded = 0;

  constructor(
    tools: ShardTools,
    terms: ShardTerms,
    task: ShardTask,
    table: ShardTable | undefined,
  ) {
    this.#table = table;
    this.#terms = terms;
    this.#task = task;
    this.#keys = keysOf(terms.didJson);
    this.#derivations = derivationsIn(terms.derivations);
    this.#lineage = new ShardLineage(tools, terms.log, task.lineage, this.#derivations);
  }

  judge(bytes: Uint8Array, onLines: (lines: number) => void): ShardFindings {
    const { path } = this.#task.file;
    const hashes = new LeafHashes();
    for (const line of linesOf(bytes, path)) {
      this.#take(line, this.#indexOf(hashes.count));
      hashes.add(line);
      if (hashes.count % PROGRESS_LINES === 0) onLines(PROGRESS_LINES);
    }
    if (hashes.count === 0) throw new PackProblem('wrong_count', path, 'A shard has no line.');
    onLines(hashes.count % PROGRESS_LINES);
    if (this.#nextSuperseded < this.#task.superseded.length) {
      throw new PackProblem(
        'revision_mismatch',
        path,
        'An entry is said to be revised that is not here.',
      );
    }
    const table = this.#table?.findings();
    return {
      lines: hashes.count,
      ...(table === undefined ? {} : { table }),
      leafHashes: hashes.bytes(),
      totals: this.#totals.parts(),
      claims: this.#claims,
      report: this.#report.parts(),
      revisions: this.#revisions,
      inferences: BigUint64Array.from(this.#inferences),
      once: BigUint64Array.from(this.#once),
      ...(this.#disagreement === undefined ? {} : { disagreement: this.#disagreement }),
      ...(this.#unknown === undefined ? {} : { unknown: this.#unknown }),
      citations: [...this.#citations.values()],
      lineage: this.#lineage.findings(),
      signers: [...this.#signers].map(([kid, signed]) => ({ kid, ...signed })),
    };
  }

  #indexOf(line: number): number {
    const { indexes, file } = this.#task;
    if (typeof indexes === 'number') return indexes + line;
    const index = indexes[line];
    if (index !== undefined) return index;
    throw new PackProblem('wrong_count', file.path, 'There are more lines than proofs for them.');
  }

  #take(line: Uint8Array, index: number): void {
    const text = textOf(line, this.#task.file.path);
    const verdict = verifyReceipt(text, this.#keys, this.#terms.now);
    if (verdict.code === 'unknown_format') return this.#leave(text, index);
    const { document, canonical, kid } = verdict;
    if (!verdict.good || document === undefined || kid === undefined) throw refused(index, verdict);
    if (canonical !== text) {
      throw new PackProblem(
        'receipt_invalid',
        `entry ${index}`,
        'It is not in its canonical form.',
      );
    }
    this.#checkTerms(document, index, kid);
    const measurement = this.#measurementOf(document, index);
    const said = disagreement(document, measurement);
    if (said !== undefined) this.#disagreement ??= { index, said };
    this.#cite(document, measurement);
    const lineage =
      measurement && this.#lineage.take({ bytes: line, document, index }, measurement);
    if (lineage?.context !== undefined) this.#citeContext(lineage.context);
    const receipts = (this.#signers.get(kid)?.receipts ?? 0) + 1;
    this.#signers.set(kid, { receipts, lastIndex: index });
    const supersededBy = this.#supersededBy(index);
    this.#claims = joined(this.#claims, claimsOf(document));
    const counted = countedReceipt(document);
    const reported = reportedEntry(document, counted, lineage?.derivation);
    const revised = document.wasRevisionOf;
    if (revised === undefined) this.#note(document.credentialSubject);
    const statedCounts = this.#table?.take(document, index, supersededBy);
    if (revised === undefined && supersededBy === null) {
      // Nothing but a revision keeps a receipt from counting.
      if (statedCounts === false) this.#table!.contradict(`of entry ${index}`);
      this.#report.take(reported, true);
      return this.#totals.add(counted);
    }
    this.#revisions.push({
      index,
      supersededBy,
      digest: sha256(line),
      revises:
        revised === undefined
          ? null
          : { leafIndex: revised.leafIndex, digest: digestBytesIn(revised.digest) },
      repeated: { own: repeatedOf(document), before: repeatedBefore(document) },
      reported,
      statedCounts,
    });
  }

  /** A receipt of a format that is not known: a later release judges it. */
  #leave(text: string, index: number): void {
    const { '@context': contexts } = JSON.parse(text) as { '@context': [unknown, string] };
    this.#unknown ??= { index, context: contexts[1] };
    this.#citeContext(contexts[1]);
    this.#supersededBy(index);
  }

  #note({ id, salt, requestDigest, responseDigest }: ReceiptDocument['credentialSubject']): void {
    this.#inferences.push(eightBytesOf(id));
    this.#once.push(eightBytesOf(salt), eightBytesOf(requestDigest));
    if (responseDigest !== undefined) this.#once.push(eightBytesOf(responseDigest));
  }

  #checkTerms(document: ReceiptDocument, index: number, kid: string): void {
    const { issuer, organisation, log, sealedAt, published } = this.#terms;
    if (Date.parse(document.validFrom) > sealedAt + CLOCK_SKEW_MS) {
      const message = `It was signed at ${document.validFrom}, after the seal.`;
      throw new PackProblem('seal_contradiction', `entry ${index}`, message);
    }
    if (!published.has(kid)) {
      const message = `The key ${kid} is not in the did.json of the pack.`;
      throw new PackProblem('keys_mismatch', `entry ${index}`, message);
    }
    const fits =
      document.issuer === issuer &&
      document.credentialSubject.organisation === organisation &&
      (document.inclusionPromise === undefined || document.inclusionPromise.log === log);
    if (!fits) {
      throw new PackProblem(
        'wrong_log',
        `entry ${index}`,
        'It belongs to another issuer or organisation.',
      );
    }
  }

  /** The measurement with everything that it names. */
  #measurementOf({ measurement }: ReceiptDocument, index: number): WholeMeasurement | undefined {
    if (measurement === undefined) return undefined;
    const digest = derivationDigest(measurement);
    if (!this.#terms.derivations.has(digest)) {
      const path = derivationPath(digest);
      const message = `The pack does not say what the estimate of entry ${index} was made from.`;
      throw new PackProblem('derivation_missing', path, message);
    }
    try {
      return wholeMeasurement(measurement, this.#derivations);
    } catch (error) {
      if (!(error instanceof MalformedData)) throw error;
      throw new PackProblem('derivation_mismatch', `entry ${index}`, `${error.message}.`);
    }
  }

  #cite(document: ReceiptDocument, measurement: WholeMeasurement | undefined): void {
    for (const id of document['@context']) this.#citeContext(id);
    if (measurement !== undefined) {
      const { id, name, version, digest } = measurement.hadPlan;
      this.#citations.set(`${id} ${digest}`, { kind: 'methodology', id, name, version, digest });
      const named = derivationDigest(measurement.stated);
      const record = {
        kind: 'derivation',
        id: named,
        name: '',
        version: '',
        digest: named,
      } as const;
      this.#citations.set(named, record);
    }
    if (this.#citations.size > CITATIONS_MAX) {
      throw new PackProblem('methodology_mismatch', this.#task.file.path, 'Too much is cited.');
    }
  }

  #citeContext(id: string): void {
    this.#citations.set(id, { kind: 'context', id, name: '', version: '', digest: '' });
  }

  #supersededBy(index: number): number | null {
    const next = this.#task.superseded[this.#nextSuperseded];
    if (next?.index !== index) return null;
    this.#nextSuperseded += 1;
    return next.by;
  }
}

function eightBytesOf(text: string): bigint {
  const digest = sha256(text);
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0);
}

/** Leaf hashes of lines, one after the other. */
class LeafHashes {
  #bytes = new Uint8Array(SHARD_LINES_MAX * HASH_BYTES);
  count = 0;

  /** The byte before the line, a newline or the end of a header, stands in for RFC 6962's prefix: nothing is copied. */
  add(line: Uint8Array): void {
    const leaf = new Uint8Array(line.buffer, line.byteOffset - 1, line.length + 1);
    leaf[0] = 0;
    const at = this.count * HASH_BYTES;
    if (at === this.#bytes.length) {
      const larger = new Uint8Array(at * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(sha256(leaf), at);
    this.count += 1;
  }

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.count * HASH_BYTES);
  }
}

const KEY_CODES = ['unknown_key', 'key_revoked', 'key_not_authorised'] as const;

function refused(index: number, { code, message }: ReceiptVerdict): PackProblem {
  const own = KEY_CODES.find((known) => known === code) ?? 'receipt_invalid';
  return new PackProblem(own, `entry ${index}`, own === code ? message : `${message} (${code})`);
}
