import {
  derivationPath,
  lineagePath,
  LOSSES,
  METHODOLOGIES,
  REPORT_STATEMENT,
  SUPERSEDED,
} from '#shared/packs/layout.ts';
import { type LossStatement, parseLoss } from '#shared/ledger/losses.ts';
import { reportedEntry, ReportFacts } from '#shared/packs/report/facts.ts';
import { reportPage } from '#shared/packs/report/page.ts';
import { parseStatement } from '#shared/packs/report/statement.ts';
import { countedReceipt, PackTotals } from '#shared/packs/totals.ts';
import { zoneYears } from '#shared/packs/zone-years.ts';
import { derivationKey } from '#shared/lineage/derivation-key.ts';
import {
  derivationDigest,
  type Derivations,
  parseDerivation,
  wholeMeasurement,
} from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { ForgedPack, Loose } from './tampering.ts';

/**
 * The page that follows from what a pack in memory holds, as a holder of the seal's key can make it: what contradicts
 * the receipts then has to be seen elsewhere. Undefined where there is none to be made.
 */
export function remadePage(pack: ForgedPack, seal: Loose): string | undefined {
  try {
    return pageOf(pack, seal);
  } catch {
    return undefined;
  }
}

function pageOf(pack: ForgedPack, { credentialSubject, issuer, validFrom }: Loose): string {
  const derivation: Derivations = (digest) =>
    parseDerivation(pack.text(derivationPath(digest)), digest);
  const [facts, totals] = [new ReportFacts(), new PackTotals()];
  const { range, checkpoint, organisation, requested } = credentialSubject;
  const superseded = new Set(
    linesIn(pack, SUPERSEDED).map((line) => (JSON.parse(line) as { index: number }).index),
  );
  const proofs = linesIn(pack, 'data/revision-proofs');
  const revisions = linesIn(pack, 'data/revisions');
  const entries = [
    ...linesIn(pack, 'data/receipts').map((line, i) => ({ line, index: range.firstIndex + i })),
    ...revisions.map((line, i) => ({ line, index: JSON.parse(proofs[i]!).index as number })),
  ];
  // Those of a chain that begins before the range count with another pack.
  const foreign = new Set<number>();
  const named = new Set<string>();
  for (const { line, index } of entries) {
    const document = JSON.parse(line) as ReceiptDocument;
    const revised = document.wasRevisionOf?.leafIndex;
    if (revised !== undefined && (revised < range.firstIndex || foreign.has(revised)))
      foreign.add(index);
    const counts = !superseded.has(index) && !foreign.has(index);
    const counted = countedReceipt(document);
    if (counts) totals.add(counted);
    const measurement = document.measurement && wholeMeasurement(document.measurement, derivation);
    const key = measurement && derivationKey(measurement);
    if (document.measurement !== undefined) named.add(derivationDigest(document.measurement));
    facts.take(reportedEntry(document, counted, key), counts);
    const lineage = pack.files.get(lineagePath(index));
    if (key !== undefined && lineage !== undefined) facts.explain(key, lineage.toString());
  }
  for (const digest of named) facts.declare(derivation(digest)!);
  return reportPage({
    name: credentialSubject.id.split('/').at(-1),
    issuer,
    stated: parseStatement(pack.text(REPORT_STATEMENT)),
    organisation,
    log: checkpoint.log,
    losses: lossesIn(pack),
    range: { ...range, checkpointSize: checkpoint.size },
    requested,
    at: validFrom,
    receipts: range.receipts,
    revisions: range.revisions,
    superseded: range.superseded,
    totals,
    facts,
    years: zoneYears(methodologiesIn(pack)),
  });
}

function methodologiesIn(pack: ForgedPack): Map<string, string> {
  const paths = [...pack.files.keys()].filter((path) => path.startsWith(`${METHODOLOGIES}/`));
  return new Map(paths.map((path) => [path, pack.text(path)]));
}

/** As far as they can be read. */
function lossesIn(pack: ForgedPack): LossStatement[] {
  if (!pack.files.has(LOSSES)) return [];
  const lines = pack.text(LOSSES).trimEnd().split('\n');
  return lines.map((line) => parseLoss((JSON.parse(line) as { note: string }).note).statement);
}

function linesIn(pack: ForgedPack, folder: string): string[] {
  return [...pack.files.keys()]
    .filter((name) => name.startsWith(`${folder}/`))
    .flatMap((name) => pack.text(name).trimEnd().split('\n'));
}
