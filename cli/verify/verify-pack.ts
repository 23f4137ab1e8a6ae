import { trustedKeysOf } from '../../shared/adapters/signing/trust.ts';
import type { SealDocument } from '../../shared/domain/pack/descriptor.ts';
import {
  DID_DOCUMENT,
  RECEIPTS,
  REVISIONS,
  shardPath,
  SUPERSEDED,
} from '../../shared/domain/pack/layout.ts';
import { PackProblem } from '../../shared/domain/pack/problem.ts';
import { RevisionLinks } from '../../shared/domain/pack/revision-links.ts';
import { PackTotals } from '../../shared/domain/pack/totals.ts';
import type { TrustedKeys } from '../../shared/domain/receipt/verify.ts';
import { type Bag, checkSeal, openBag } from './bag.ts';
import { CitedDocuments } from './documents.ts';
import { type Anchored, type KeyStanding, readKeyStanding } from './key-standing.ts';
import { LedgerWalk } from './ledger.ts';
import { numberIn, objectsOf, textOf } from './lines.ts';
import { openPack } from './pack-file.ts';
import type { ShardFindings, ShardTask, ShardTerms } from './shard-judge.ts';
import { judgeShards } from './shard-pool.ts';

export interface PackVerdict {
  good: boolean;
  code: 'good' | PackProblem['code'];
  /** One sentence for a person. */
  message: string;
  /** The file or entry that shows the problem. */
  place?: string;
  /** The seal as far as it could be read; a bad pack's seal proves nothing. */
  seal?: SealDocument;
  /** The keys were the pack's own: it is whole, and says itself whose it is. */
  ownKeys: boolean;
  signers: Record<string, number>;
  /** Signed heads within the range. */
  heads: number;
  /** The newest head in the anchor log, if the pack has one. */
  anchored: Anchored | null;
}

export interface VerifyPackOptions {
  /** did.json of the issuer; the pack's own when absent. */
  didJson?: string;
  /** Epoch milliseconds. */
  now: number;
  onProgress?: (done: number, total: number) => void;
}

/** Is this pack what its issuer sealed and logged, whole and unchanged? Offline, in constant memory. */
export async function verifyPack(path: string, options: VerifyPackOptions): Promise<PackVerdict> {
  const seen: Seen = {
    ownKeys: options.didJson === undefined,
    signers: {},
    heads: 0,
    anchored: null,
  };
  try {
    await examine(path, options, seen);
    return { good: true, code: 'good', message: GOOD, ...seen };
  } catch (error) {
    if (!(error instanceof PackProblem)) throw error;
    const { code, message, place } = error;
    return { good: false, code, message, place, ...seen };
  }
}

const GOOD = 'The pack is whole: every receipt is signed, in the ledger, and in its place.';

/** What was learnt before a problem came up. */
type Seen = Pick<PackVerdict, 'ownKeys' | 'signers' | 'heads' | 'anchored' | 'seal'>;

async function examine(path: string, options: VerifyPackOptions, seen: Seen): Promise<void> {
  const pack = openPack(path);
  try {
    const bag = openBag(pack);
    const { proof: _, ...seal } = bag.seal;
    seen.seal = seal;
    const didJson = options.didJson ?? textOf(bag.read(DID_DOCUMENT), DID_DOCUMENT);
    const published = keysOf(didJson);
    checkSeal(bag.seal, published);
    const standing = readKeyStanding(bag, published, didJson);
    seen.anchored = standing.anchored;
    const documents = new CitedDocuments(bag);
    const ledger = new LedgerWalk(bag, keysOf(standing.didJson), standing);
    const walk = new PackWalk(bag, documents, ledger, { seen, standing });
    const { organisation, checkpoint } = bag.seal.credentialSubject;
    await walk.judge(
      {
        packPath: path,
        didJson: standing.didJson,
        issuer: bag.seal.issuer,
        organisation,
        log: checkpoint.log,
        now: options.now,
      },
      options.onProgress ?? (() => {}),
    );
    documents.finish();
    // What nothing above had to read is still compared with its digest.
    for (const file of bag.manifest.keys()) if (!walk.wasJudged(file)) bag.read(file);
  } finally {
    pack.close();
  }
}

function keysOf(didJson: string): TrustedKeys {
  try {
    return trustedKeysOf(didJson);
  } catch (error) {
    throw new PackProblem('unknown_key', DID_DOCUMENT, (error as Error).message);
  }
}

/** Goes through the entries of a pack in the order of the ledger. */
class PackWalk {
  readonly #bag: Bag;
  readonly #documents: CitedDocuments;
  readonly #ledger: LedgerWalk;
  readonly #seen: Seen;
  readonly #standing: KeyStanding;
  readonly #links: RevisionLinks;
  readonly #totals = new PackTotals();
  readonly #judged = new Set<string>();
  #superseded = 0;
  #revisions = 0;

  constructor(
    bag: Bag,
    documents: CitedDocuments,
    ledger: LedgerWalk,
    { seen, standing }: { seen: Seen; standing: KeyStanding },
  ) {
    this.#standing = standing;
    this.#bag = bag;
    this.#documents = documents;
    this.#ledger = ledger;
    this.#seen = seen;
    const { range, checkpoint } = bag.seal.credentialSubject;
    this.#links = new RevisionLinks({
      first: range.firstIndex,
      end: range.lastIndex + 1,
      size: checkpoint.size,
    });
  }

  wasJudged(path: string): boolean {
    return this.#judged.has(path);
  }

  async judge(terms: ShardTerms, onProgress: (done: number, total: number) => void): Promise<void> {
    const { range } = this.#bag.seal.credentialSubject;
    const total = range.receipts + range.revisions;
    let done = 0;
    const options = {
      receipts: total,
      onLines: (lines: number): void => onProgress((done += lines), total),
    };
    for await (const { findings, task } of judgeShards(terms, this.#receiptTasks(), options)) {
      if (task.indexes !== this.#ledger.size) {
        throw new PackProblem(
          'wrong_count',
          task.file.path,
          'A shard does not begin where the one before it ended.',
        );
      }
      this.#ledger.take(findings.leafHashes);
      this.#take(findings);
    }
    if (this.#ledger.size !== range.lastIndex + 1) {
      throw new PackProblem(
        'wrong_count',
        RECEIPTS,
        'There are not as many receipts as the seal says.',
      );
    }
    this.#ledger.finish();
    this.#seen.heads = this.#ledger.heads;
    await this.#judgeRevisions(terms, options);
    this.#links.finish();
    this.#compareTotals();
  }

  async #judgeRevisions(
    terms: ShardTerms,
    options: { receipts: number; onLines: (lines: number) => void },
  ): Promise<void> {
    const checks = new Map<string, (leafHashes: Uint8Array) => void>();
    for await (const { task, findings } of judgeShards(
      terms,
      this.#revisionTasks(checks),
      options,
    )) {
      checks.get(task.file.path)!(findings.leafHashes);
      checks.delete(task.file.path);
      if (findings.revisions.length !== findings.lines) {
        const message = 'Outside the range only revisions of its receipts have a place.';
        throw new PackProblem('revision_mismatch', task.file.path, message);
      }
      this.#revisions += findings.lines;
      this.#take(findings);
    }
  }

  #take(findings: ShardFindings): void {
    this.#documents.check(findings.citations);
    this.#totals.merge(findings.totals);
    for (const fact of findings.revisions) {
      const counts = this.#links.take({ ...fact, digest: () => fact.digest });
      if (counts) this.#totals.add(fact.counted);
      if (fact.supersededBy !== null) this.#superseded += 1;
    }
    for (const { kid, receipts, lastIndex } of findings.signers) {
      this.#standing.check(kid, 'receipts', lastIndex, `entry ${lastIndex}`);
      this.#seen.signers[kid] = (this.#seen.signers[kid] ?? 0) + receipts;
    }
  }

  *#receiptTasks(): Generator<ShardTask> {
    for (const path of this.#shards(RECEIPTS)) {
      const first = Number(/(\d+)\.ndjson$/.exec(path)?.[1]);
      yield { ...this.#task(path), indexes: first };
    }
  }

  *#revisionTasks(checks: Map<string, (leafHashes: Uint8Array) => void>): Generator<ShardTask> {
    for (const path of this.#shards(REVISIONS)) {
      const { indexes, check } = this.#ledger.proofsOf(path);
      checks.set(path, check);
      yield { ...this.#task(path), indexes };
    }
  }

  /** Names are of one length, so their order is that of the ledger. */
  #shards(folder: string): string[] {
    const paths = [...this.#bag.manifest.keys()].filter((path) => path.startsWith(`${folder}/`));
    const odd = paths.find((path) => !/\/\d{12}\.ndjson$/.test(path));
    if (odd !== undefined)
      throw new PackProblem('extra_file', odd, 'It is not named as a shard is.');
    return paths.toSorted();
  }

  #task(path: string): Omit<ShardTask, 'indexes'> {
    const companion = shardPath(SUPERSEDED, Number(/(\d+)\.ndjson$/.exec(path)?.[1]));
    const superseded = this.#bag.manifest.has(companion)
      ? [...objectsOf(this.#bag.read(companion), companion)].map((line) => ({
          index: numberIn(line, 'index', companion),
          by: numberIn(line, 'by', companion),
        }))
      : [];
    this.#judged.add(path);
    const file = this.#bag.pack.files.get(path)!;
    return { file, sha256: this.#bag.manifest.get(path)!, superseded };
  }

  #compareTotals(): void {
    const { range, totals } = this.#bag.seal.credentialSubject;
    const fits =
      range.revisions === this.#revisions &&
      range.superseded === this.#superseded &&
      // Both list the same fields in the same order: the one was made by the other's code, and read strictly.
      JSON.stringify(sorted(totals)) === JSON.stringify(sorted(this.#totals.document()));
    if (!fits) {
      throw new PackProblem(
        'totals_mismatch',
        'totals',
        'The receipts do not add up to what the seal says.',
      );
    }
  }
}

function sorted(value: object): unknown {
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
