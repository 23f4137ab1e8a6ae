import { digestBytesIn } from '#shared/kernel/multihash.ts';
import { hash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { HASH_BYTES } from '#shared/ledger/hashing.ts';
import { SHARD_LINES_MAX } from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import {
  countedReceipt,
  type CountedReceipt,
  PackTotals,
  type TotalsParts,
} from '#shared/packs/totals.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { type ReceiptVerdict, type TrustedKeys, verifyReceipt } from '#shared/receipts/verify.ts';
import { linesOf, textOf } from './lines.ts';
import { checkDigest, type PackedFile, readPacked, reusedBuffer } from './pack-file.ts';
import { type LineageFindings, type PackedLineage, ShardLineage } from './shard-lineage.ts';

/** Facts that every receipt of a pack must agree with. */
export interface ShardTerms {
  packPath: string;
  /** did.json that is trusted. */
  didJson: string;
  issuer: string;
  organisation: string;
  log: string;
  /** Epoch milliseconds. */
  now: number;
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
}

/** A receipt that revises or was revised. Whether it counts depends on entries outside the shard. */
interface RevisionFact {
  index: number;
  supersededBy: number | null;
  digest: Uint8Array;
  revises: { leafIndex: number; digest: Uint8Array } | null;
  counted: CountedReceipt;
}

/** A context or methodology that receipts cite. */
export interface Citation {
  kind: 'context' | 'methodology';
  id: string;
  name: string;
  version: string;
  digest: string;
}

export interface ShardFindings {
  lines: number;
  /** One after the other. */
  leafHashes: Uint8Array;
  /** Of the receipts that neither revise nor were revised. */
  totals: TotalsParts;
  revisions: RevisionFact[];
  citations: Citation[];
  lineage: LineageFindings;
  /** Keys that signed, with how many receipts each, and the last of them. */
  signers: { kid: string; receipts: number; lastIndex: number }[];
}

/** More different contexts and methodologies than there will ever be. */
const CITATIONS_MAX = 256;

/** Judges every receipt of a shard. @throws PackProblem for the first that is not good */
export function judgeShard(
  terms: ShardTerms,
  task: ShardTask,
  onLines: (lines: number) => void = () => {},
): ShardFindings {
  const fd = openSync(terms.packPath, 'r');
  let bytes: Uint8Array;
  try {
    bytes = readPacked(fd, task.file, shardBuffer);
  } finally {
    closeSync(fd);
  }
  checkDigest(bytes, task.sha256, task.file.path);
  return new ShardJudge(terms, task).judge(bytes, onLines);
}

/** One for all shards of a thread. */
const shardBuffer = reusedBuffer();

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
  readonly #revisions: RevisionFact[] = [];
  readonly #citations = new Map<string, Citation>();
  readonly #signers = new Map<string, { receipts: number; lastIndex: number }>();
  readonly #lineage: ShardLineage;
  #nextSuperseded = 0;

  constructor(terms: ShardTerms, task: ShardTask) {
    this.#terms = terms;
    this.#task = task;
    this.#keys = keysOf(terms.didJson);
    this.#lineage = new ShardLineage(terms.packPath, terms.log, task.lineage);
  }

  judge(bytes: Uint8Array, onLines: (lines: number) => void): ShardFindings {
    const { path } = this.#task.file;
    const hashes = new LeafHashes();
    for (const line of linesOf(bytes, path)) {
      this.#take(line, this.#indexOf(hashes.count));
      hashes.add(line);
      if (hashes.count % PROGRESS_LINES === 0) onLines(PROGRESS_LINES);
    }
    onLines(hashes.count % PROGRESS_LINES);
    if (this.#nextSuperseded < this.#task.superseded.length) {
      throw new PackProblem(
        'revision_mismatch',
        path,
        'An entry is said to be revised that is not here.',
      );
    }
    return {
      lines: hashes.count,
      leafHashes: hashes.bytes(),
      totals: this.#totals.parts(),
      revisions: this.#revisions,
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
    const { document, canonical, kid } = verdict;
    if (!verdict.good || document === undefined || kid === undefined) throw refused(index, verdict);
    if (canonical !== text) {
      throw new PackProblem(
        'receipt_invalid',
        `entry ${index}`,
        'It is not in its canonical form.',
      );
    }
    this.#checkTerms(document, index);
    this.#cite(document);
    const lineageContext = this.#lineage.take({ bytes: line, document, index });
    if (lineageContext !== undefined) this.#citeContext(lineageContext);
    const receipts = (this.#signers.get(kid)?.receipts ?? 0) + 1;
    this.#signers.set(kid, { receipts, lastIndex: index });
    const supersededBy = this.#supersededBy(index);
    const counted = countedReceipt(document);
    const revised = document.wasRevisionOf;
    if (revised === undefined && supersededBy === null) return this.#totals.add(counted);
    this.#revisions.push({
      index,
      supersededBy,
      digest: hash('sha256', line, 'buffer'),
      revises:
        revised === undefined
          ? null
          : { leafIndex: revised.leafIndex, digest: digestBytesIn(revised.digest) },
      counted,
    });
  }

  #checkTerms(document: ReceiptDocument, index: number): void {
    const { issuer, organisation, log } = this.#terms;
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

  #cite(document: ReceiptDocument): void {
    const plan = document.measurement?.hadPlan;
    for (const id of document['@context']) this.#citeContext(id);
    if (plan !== undefined) {
      const { id, name, version, digest } = plan;
      this.#citations.set(`${id} ${digest}`, { kind: 'methodology', id, name, version, digest });
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
    this.#bytes.set(hash('sha256', leaf, 'buffer'), at);
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
