import { RECEIPTS, REVISIONS, shardPath, SUPERSEDED } from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { RevisionLinks } from '#shared/packs/revision-links.ts';
import { PackTotals } from '#shared/packs/totals.ts';
import type { Bag } from './bag.ts';
import type { CitedDocuments } from './documents.ts';
import type { KeyStanding } from './key-standing.ts';
import type { LedgerWalk } from './ledger.ts';
import { type LineageSummary, LineageWalk } from './lineage-walk.ts';
import type { PackedLineage } from './shard-lineage.ts';
import { numberIn, objectsOf } from './lines.ts';
import type { ShardFindings, ShardTask, ShardTerms } from './shard-judge.ts';
import { judgeShards } from './shard-pool.ts';

/** Facts learnt of a pack on the way; they are reported also when a problem comes up later. */
export interface SeenOnWalk {
  /** Receipts by the key that signed them. */
  signers: Record<string, number>;
  /** Signed heads within the range. */
  heads: number;
  lineage: LineageSummary | null;
}

/** Goes through the entries of a pack in the order of the ledger. */
export class PackWalk {
  readonly #bag: Bag;
  readonly #documents: CitedDocuments;
  readonly #ledger: LedgerWalk;
  readonly #seen: SeenOnWalk;
  readonly #standing: KeyStanding;
  readonly #links: RevisionLinks;
  readonly #totals = new PackTotals();
  readonly #lineage: LineageWalk;
  readonly #judged = new Set<string>();
  #superseded = 0;
  #revisions = 0;

  constructor(
    bag: Bag,
    documents: CitedDocuments,
    ledger: LedgerWalk,
    { seen, standing }: { seen: SeenOnWalk; standing: KeyStanding },
  ) {
    this.#standing = standing;
    this.#bag = bag;
    this.#documents = documents;
    this.#ledger = ledger;
    this.#seen = seen;
    this.#lineage = new LineageWalk(bag);
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
    this.#lineage.finish();
    this.#seen.lineage = this.#lineage.summary;
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
    this.#lineage.take(findings.lineage);
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
    const paths = this.#shards(RECEIPTS);
    const { lastIndex } = this.#bag.seal.credentialSubject.range;
    for (const [i, path] of paths.entries()) {
      const next = paths[i + 1];
      const first = firstIndexOf(path);
      const last = next === undefined ? lastIndex : firstIndexOf(next) - 1;
      yield { ...this.#task(path), indexes: first, lineage: this.#lineageOf(first, last) };
    }
  }

  *#revisionTasks(checks: Map<string, (leafHashes: Uint8Array) => void>): Generator<ShardTask> {
    for (const path of this.#shards(REVISIONS)) {
      const { indexes, check } = this.#ledger.proofsOf(path);
      checks.set(path, check);
      const lineage = this.#lineageOf(indexes[0] ?? 0, indexes.at(-1) ?? 0);
      yield { ...this.#task(path), indexes, lineage };
    }
  }

  /** Documents of these entries. Those that no receipt there has are found at the end. */
  #lineageOf(first: number, last: number): PackedLineage[] {
    const documents = this.#lineage.between(first, last);
    for (const { file } of documents) this.#judged.add(file.path);
    return documents;
  }

  /** Names are of one length, so their order is that of the ledger. */
  #shards(folder: string): string[] {
    const paths = [...this.#bag.manifest.keys()].filter((path) => path.startsWith(`${folder}/`));
    const odd = paths.find((path) => !/\/\d{12}\.ndjson$/.test(path));
    if (odd !== undefined)
      throw new PackProblem('extra_file', odd, 'It is not named as a shard is.');
    return paths.toSorted();
  }

  #task(path: string): Omit<ShardTask, 'indexes' | 'lineage'> {
    const companion = shardPath(SUPERSEDED, firstIndexOf(path));
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

function firstIndexOf(path: string): number {
  return Number(/(\d+)\.ndjson$/.exec(path)?.[1]);
}

function sorted(value: object): unknown {
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
