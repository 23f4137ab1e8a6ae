import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import {
  CHECKPOINTS,
  isKnownPage,
  LINEAGE,
  RECEIPTS,
  REPORT,
  REPORT_PAGE,
  REPORT_STATEMENT,
  REVISIONS,
  SEAL,
  shardPath,
  SUPERSEDED,
  tablePath,
  TOTALS_TABLE,
} from '#shared/packs/layout.ts';
import type { ZoneHours } from '#shared/packs/hours.ts';
import { isPassive } from '#shared/packs/passive-page.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import {
  type DeclaredInput,
  evidenceOf,
  nameOf,
  withContracts,
} from '#shared/packs/report/declared.ts';
import { ReportFacts } from '#shared/packs/report/facts.ts';
import { reportPage } from '#shared/packs/report/page.ts';
import {
  areInOrder,
  parseStatement,
  type ReportStatement,
} from '#shared/packs/report/statement.ts';
import { RevisionLinks } from '#shared/packs/revision-links.ts';
import { totalsTable } from '#shared/packs/tables.ts';
import { PackTotals } from '#shared/packs/totals.ts';
import type { Bag } from './bag.ts';
import { type Claims, joined } from './claims.ts';
import type { CitedDocuments } from './documents.ts';
import type { KeyStanding } from './key-standing.ts';
import type { LedgerWalk } from './ledger.ts';
import { type LineageSummary, LineageWalk } from './lineage-walk.ts';
import type { PackedLineage } from './shard-lineage.ts';
import { numberIn, objectsOf, textOf } from './lines.ts';
import type { ShardFindings, ShardTask, ShardTerms } from './shard-judge.ts';

/** Facts learnt of a pack on the way; they are reported also when a problem comes up later. */
export interface SeenOnWalk {
  /** Receipts by the key that signed them. */
  signers: Record<string, number>;
  /** Signed heads within the range. */
  heads: number;
  lineage: LineageSummary | null;
  /** What receipts say that nothing confirms. */
  claims: Claims;
  /** What receipts with factors of hours add up to, by grid zone. */
  hours: ZoneHours[];
  /** Names, contracts and evidence, which are the word of the one who sealed. */
  statement: ReportStatement | null;
  /** What receipts take from the word of the operator, contracts included. */
  declared: DeclaredInput[];
}

/** A shard, and what was found in it. */
export interface JudgedShard {
  task: ShardTask;
  findings: ShardFindings;
}

/** Judges shards and gives their findings in the order of the shards: on threads, or one after the other. */
export type JudgeShards = (
  terms: ShardTerms,
  tasks: Iterable<ShardTask>,
  options: { receipts: number; onLines: (lines: number) => void },
) => AsyncIterable<JudgedShard>;

/** Goes through the entries of a pack in the order of the ledger. */
export class PackWalk {
  readonly #bag: Bag;
  readonly #documents: CitedDocuments;
  readonly #ledger: LedgerWalk;
  readonly #seen: SeenOnWalk;
  readonly #standing: KeyStanding;
  readonly #judgeShards: JudgeShards;
  readonly #links: RevisionLinks;
  readonly #totals = new PackTotals();
  readonly #report = new ReportFacts();
  readonly #lineage: LineageWalk;
  readonly #judged = new Set<string>();
  readonly #inferences: BigUint64Array[] = [];
  readonly #once: BigUint64Array[] = [];
  #superseded = 0;
  /** When the entry before the next shard was integrated, by the tables. */
  #integratedAt = '';
  /** What a table first says otherwise than the receipts. */
  #contradiction: PackProblem | undefined;
  #unknown: ShardFindings['unknown'];
  #revisions = 0;

  constructor(
    bag: Bag,
    documents: CitedDocuments,
    ledger: LedgerWalk,
    {
      seen,
      standing,
      judgeShards,
    }: { seen: SeenOnWalk; standing: KeyStanding; judgeShards: JudgeShards },
  ) {
    this.#standing = standing;
    this.#judgeShards = judgeShards;
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
    let firstIntegrated: string | undefined;
    const options = {
      receipts: total,
      onLines: (lines: number): void => onProgress((done += lines), total),
    };
    for await (const { findings, task } of this.#judgeShards(
      terms,
      this.#receiptTasks(),
      options,
    )) {
      if (task.indexes !== this.#ledger.size) {
        throw new PackProblem(
          'wrong_count',
          task.file.path,
          'A shard does not begin where the one before it ended.',
        );
      }
      this.#ledger.take(findings.leafHashes);
      this.#take(findings);
      this.#inferences.push(findings.inferences);
      this.#once.push(findings.once);
      firstIntegrated ??= findings.table?.integrated[0];
    }
    if (this.#ledger.size !== range.lastIndex + 1) {
      throw new PackProblem(
        'wrong_count',
        RECEIPTS,
        'There are not as many receipts as the seal says.',
      );
    }
    this.#ledger.finish();
    refuseDoubled(
      this.#inferences,
      'An inference has two receipts of which neither revises the other.',
    );
    refuseDoubled(
      this.#once,
      'Two inferences have one salt or digest, which are of one request each.',
    );
    this.#seen.heads = this.#ledger.heads;
    if (range.signedHeads !== this.#ledger.heads) {
      const message = 'There are not as many signed heads within the range as the seal says.';
      throw new PackProblem('wrong_count', CHECKPOINTS, message);
    }
    this.#refuseUnknown();
    this.#checkPeriod(firstIntegrated ?? '', this.#integratedAt);
    await this.#judgeRevisions(terms, options);
    this.#links.finish();
    this.#compareTotals();
    this.#checkReport();
    this.#lineage.finish();
    this.#comparePage();
    this.#seen.lineage = this.#lineage.summary;
  }

  async #judgeRevisions(
    terms: ShardTerms,
    options: { receipts: number; onLines: (lines: number) => void },
  ): Promise<void> {
    const checks = new Map<string, (leafHashes: Uint8Array) => void>();
    for await (const { task, findings } of this.#judgeShards(
      terms,
      this.#revisionTasks(checks),
      options,
    )) {
      checks.get(task.file.path)!(findings.leafHashes);
      checks.delete(task.file.path);
      if (findings.unknown === undefined && findings.revisions.length !== findings.lines) {
        const message = 'Outside the range only revisions of its receipts have a place.';
        throw new PackProblem('revision_mismatch', task.file.path, message);
      }
      this.#revisions += findings.lines;
      if (findings.unknown === undefined) this.#checkAfter(findings.table?.integrated[0]);
      this.#take(findings);
    }
    this.#refuseUnknown();
  }

  /**
   * A pack with receipts of a later format is not a bad one. It is told once all else holds up to the end of the ledger, so
   * that who has not the keys of receipts and heads cannot hide behind it.
   */
  #refuseUnknown(): void {
    if (this.#unknown === undefined) return;
    const { index, context } = this.#unknown;
    const message = `Entry ${index} is a receipt with the context ${context}, which this release does not know. Seal, keys, heads and the places of all entries hold; totals, tables and figures were not judged. Take a later release, from its makers and not from where this came from.`;
    throw new PackProblem('unknown_format', `entry ${index}`, message);
  }

  #contradict(path: string, message: string): void {
    this.#contradiction ??= new PackProblem('report_mismatch', path, message);
  }

  /** Every entry of the range lies in the period that was asked for, and its neighbours do not. */
  #checkPeriod(first: string, last: string): void {
    const { requested } = this.#bag.seal.credentialSubject;
    if (requested === undefined) return;
    const { from = '', to = END_OF_TIME, before, after } = requested;
    const fits =
      from <= first &&
      last < to &&
      (before === undefined || (before <= first && before < from)) &&
      (after === undefined || (last <= after && after >= to));
    if (fits) return;
    const message = 'The entries are not those of the period that was asked for.';
    throw new PackProblem('seal_contradiction', 'requested', message);
  }

  /** The entry after the range was not integrated later than those that follow it. */
  #checkAfter(integrated: string | undefined): void {
    const { requested } = this.#bag.seal.credentialSubject;
    if ((requested?.after ?? '') <= (integrated ?? END_OF_TIME)) return;
    const message = 'Revisions were integrated before the entry after the range.';
    throw new PackProblem('seal_contradiction', 'requested', message);
  }

  #take(findings: ShardFindings): void {
    if (findings.disagreement !== undefined) {
      const { index, said } = findings.disagreement;
      const message = `The receipt says two things at once (${said}).`;
      throw new PackProblem('receipt_invalid', `entry ${index}`, message);
    }
    if (findings.table !== undefined) {
      const { integrated, contradiction } = findings.table;
      if (contradiction !== undefined) this.#contradict(contradiction.path, contradiction.message);
      if (integrated[0] < this.#integratedAt) {
        this.#contradict(REPORT, 'Times of integration go down along the ledger.');
      }
      this.#integratedAt = integrated[1];
    }
    this.#documents.check(findings.citations);
    this.#unknown ??= findings.unknown;
    this.#seen.claims = joined(this.#seen.claims, findings.claims);
    this.#lineage.take(findings.lineage);
    this.#totals.merge(findings.totals);
    this.#report.merge(findings.report);
    for (const fact of findings.revisions) {
      const { reported, ...rest } = fact;
      const counts = this.#links.take({ ...rest, digest: () => fact.digest });
      if (fact.statedCounts !== undefined && fact.statedCounts !== counts) {
        this.#contradict(REPORT, `It says otherwise whether entry ${fact.index} counts.`);
      }
      if (counts) this.#totals.add(reported.counted);
      this.#report.take(reported, counts);
      if (fact.supersededBy !== null) this.#superseded += 1;
    }
    for (const { kid, receipts, lastIndex } of findings.signers) {
      // did.json does not say what a key is for; each has one purpose.
      if (kid === this.#bag.seal.proof.verificationMethod) {
        const message = `The seal is by ${kid}, which signs receipts.`;
        throw new PackProblem('key_not_authorised', SEAL, message);
      }
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
      ? [...objectsOf(this.#bag.read(companion), companion, ['by', 'index'])].map((line) => ({
          index: numberIn(line, 'index', companion),
          by: numberIn(line, 'by', companion),
        }))
      : [];
    this.#judged.add(path);
    const file = this.#bag.pack.files.get(path)!;
    return { file, sha256: this.#bag.manifest.get(path)!, superseded, ...this.#tableOf(path) };
  }

  #tableOf(shard: string): Pick<ShardTask, 'table'> {
    const path = tablePath(shard);
    const file = this.#bag.pack.files.get(path);
    const sha256 = this.#bag.manifest.get(path);
    if (file === undefined || sha256 === undefined) {
      this.#contradict(path, 'A shard has no table.');
      return {};
    }
    this.#judged.add(path);
    return { table: { file, sha256 } };
  }

  /** What is meant for people is all there, and nothing else is. */
  #checkReport(): void {
    const own = [TOTALS_TABLE, REPORT_PAGE, REPORT_STATEMENT];
    if (this.#contradiction !== undefined) throw this.#contradiction;
    for (const path of own) this.#bag.read(path);
    const { pageVersion } = this.#bag.seal.credentialSubject;
    // What a page of a later version may do is not known here.
    if (isKnownPage(pageVersion) && !isPassive(textOf(this.#bag.read(REPORT_PAGE), REPORT_PAGE))) {
      const message = 'The page runs, loads or leads to something.';
      throw new PackProblem('report_mismatch', REPORT_PAGE, message);
    }
    const odd = [...this.#bag.manifest.keys()].find(
      (path) => path.startsWith(`${REPORT}/`) && !this.#judged.has(path) && !own.includes(path),
    );
    if (odd !== undefined) throw new PackProblem('extra_file', odd, 'No report has such a file.');
    const stated = textOf(this.#bag.read(TOTALS_TABLE), TOTALS_TABLE);
    if (stated !== totalsTable(this.#totals)) {
      const message = 'The receipts do not add up to what the table says.';
      throw new PackProblem('report_mismatch', TOTALS_TABLE, message);
    }
  }

  /** Makes the page again from what the pack holds, where it is of a version that this release makes. */
  #comparePage(): void {
    const stated = this.#statement();
    this.#seen.statement = stated;
    const page = this.#page(stated);
    if (!isKnownPage(this.#bag.seal.credentialSubject.pageVersion)) return;
    if (textOf(this.#bag.read(REPORT_PAGE), REPORT_PAGE) === page) return;
    const message = 'The page says otherwise than what is in the pack.';
    throw new PackProblem('report_mismatch', REPORT_PAGE, message);
  }

  #page(stated: ReportStatement): string {
    const { seal, pack } = this.#bag;
    const years = this.#documents.zoneYears();
    this.#seen.hours = this.#report.hours.zones(years);
    const { organisation, checkpoint, range, requested } = seal.credentialSubject;
    try {
      for (const [path, derivation] of this.#lineage.explained) {
        this.#report.explain(derivation, textOf(this.#bag.read(path), path));
      }
      for (const each of this.#documents.named().values()) this.#report.declare(each);
      this.#seen.declared = withContracts(this.#report.declared(), stated);
      checkEvidence(stated, this.#seen.declared);
      return reportPage({
        name: pack.folder,
        issuer: seal.issuer,
        stated,
        organisation,
        log: checkpoint.log,
        losses: this.#ledger.losses,
        range: { ...range, checkpointSize: checkpoint.size },
        requested,
        at: seal.validFrom,
        receipts: range.receipts,
        revisions: range.revisions,
        superseded: range.superseded,
        totals: this.#totals,
        facts: this.#report,
        years,
      });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      // Only documents of another release, which this one could not make again, are read as they are.
      throw new PackProblem('lineage_mismatch', LINEAGE, 'A document is not in its form.');
    }
  }

  #statement(): ReportStatement {
    try {
      const stated = parseStatement(textOf(this.#bag.read(REPORT_STATEMENT), REPORT_STATEMENT));
      const { firstIndex } = this.#bag.seal.credentialSubject.range;
      if (!areInOrder(stated.earlier, firstIndex)) {
        throw new MalformedData('wrong_value', '', 'An earlier pack is none of before');
      }
      return stated;
    } catch (error) {
      if (!(error instanceof MalformedData)) throw error;
      throw new PackProblem('report_mismatch', REPORT_STATEMENT, `${error.message}.`);
    }
  }

  #compareTotals(): void {
    const { range, totals } = this.#bag.seal.credentialSubject;
    const fits =
      range.revisions === this.#revisions &&
      range.superseded === this.#superseded &&
      canonicalJson(totals) === canonicalJson(this.#totals.total().document());
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

/** Later than every time of integration, as text. */
const END_OF_TIME = '~';

/** A receipt of an inference that has one already is a revision of that, and says the same of it. */
function refuseDoubled(parts: readonly BigUint64Array[], message: string): void {
  const all = new BigUint64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const each of parts) {
    all.set(each, at);
    at += each.length;
  }
  all.sort();
  if (all.every((each, i) => i === 0 || each !== all[i - 1])) return;
  throw new PackProblem('wrong_count', RECEIPTS, message);
}

/** Neither page nor verdict shows evidence of what no receipt takes. @throws PackProblem */
function checkEvidence({ evidence }: ReportStatement, declared: readonly DeclaredInput[]): void {
  const used = new Set(declared.flatMap((each) => evidenceOf(each, evidence)));
  const odd = evidence.find((each) => !used.has(each));
  if (odd === undefined) return;
  const message = `It names evidence for ${nameOf(odd)}, which no receipt of the pack takes.`;
  throw new PackProblem('report_mismatch', REPORT_STATEMENT, message);
}
