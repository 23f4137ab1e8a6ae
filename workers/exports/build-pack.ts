import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { timeText } from '#shared/kernel/time.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { packIssuer } from '#shared/packs/pack-context.ts';
import { reportPage } from '#shared/packs/report/page.ts';
import { printable } from '#shared/kernel/plain-text.ts';
import { withContracts } from '#shared/packs/report/declared.ts';
import type { ReportStatement } from '#shared/packs/report/statement.ts';
import { sealDocument } from '#shared/packs/seal.ts';
import { lacking } from '#shared/packs/attestation.ts';
import { totalsTable } from '#shared/packs/tables.ts';
import { zoneYears } from '#shared/packs/zone-years.ts';
import type {
  AnchorDocument,
  RequestedDocument,
  TotalsDocument,
} from '#shared/packs/seal-format.ts';
import {
  BAG_DECLARATION,
  BAG_INFO,
  CHECKPOINT,
  DID_DOCUMENT,
  INSTRUCTIONS,
  JWKS,
  LOSSES,
  MANIFEST,
  packName,
  type PackRange,
  REPORT_PAGE,
  REPORT_STATEMENT,
  SCRIPT,
  SEAL,
  SHAPES,
  TAG_MANIFEST,
  TOTALS_TABLE,
} from '#shared/packs/layout.ts';
import {
  BAG_DECLARATION_TEXT,
  bagDescription,
  bagInfo,
  formatManifest,
  type ManifestLine,
} from '#shared/packs/manifest.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { logOfTree } from '#shared/ledger/origins.ts';
import { addAnchor } from './anchor-section.ts';
import { ArchiveWriter } from './archive.ts';
import { contextFiles } from './citations.ts';
import { PackFailure } from './failure.ts';
import { lossesFile } from './losses.ts';
import { type PackBuild, PackInProgress } from './pack-in-progress.ts';
import { addCheckpoints, addReceipts, addRevisions, damaged } from './sections.ts';
import { ShardBuffer } from './shard.ts';

export interface BuiltPack {
  sizeBytes: number;
  sha256: string;
  /** What others were asked to attest of its anchor and have not. */
  lacks: readonly string[];
  /** Folder of the archive. */
  name: string;
  /** Multihash of the seal's bytes, and what it states. */
  seal: string;
  totals: TotalsDocument;
}

/**
 * Writes an evidence pack to `build.sink`, from front to back, in constant memory. The same range at the same checkpoint
 * gives the same bytes, as long as the published keys, the shipped documents and the anchor are the same.
 * @returns what the whole archive is
 * @throws PackFailure when it cannot be built at all; ExportLost; anything that the source, the sink or the signal throw
 */
export async function buildPack(build: PackBuild): Promise<BuiltPack> {
  const { source, orgId, checkpointSize } = build;
  const checkpoint = await source.checkpoint(orgId, checkpointSize);
  if (checkpoint === null) {
    throw new PackFailure(
      'checkpoint_missing',
      `No checkpoint of ${checkpointSize} entries is stored.`,
    );
  }
  const { origin } = parseCheckpoint(checkpoint.note).checkpoint;
  const range: PackRange = { ...build, generation: logOfTree(origin).generation };
  const name = packName(orgId, range);
  const archive = new ArchiveWriter(build.sink, name);
  const losses = await build.source.losses(orgId, checkpointSize);
  const progress = new PackInProgress(build, archive, { checkpoint, origin, name, losses });
  const shard = new ShardBuffer();
  const tags = [
    await addTag(archive, BAG_DECLARATION, BAG_DECLARATION_TEXT),
    await addTag(archive, INSTRUCTIONS, instructionsOf(progress)),
    await addTag(archive, SCRIPT, build.documents.script),
  ];
  await addDocuments(progress);
  const anchor = await addAnchor(progress);
  try {
    await addReceipts(progress, shard);
    await addCheckpoints(progress);
    await addRevisions(progress, shard);
    progress.links.finish();
  } catch (error) {
    // What a verifier would refuse in a pack of ours is damage in our own ledger.
    throw error instanceof PackProblem ? damaged(`${error.place}: ${error.message}`) : error;
  }
  for (const file of progress.citations.methodologies()) await progress.add(file);
  for (const file of progress.derivations.files()) await progress.add(file);
  for (const each of progress.derivations.documents()) progress.report.declare(each);
  const requested = await requestedPeriod(progress);
  await addReport(progress, requested);
  const sealed = await seal(progress, tags, { anchor, requested });
  const { asked } = build;
  const lacks =
    anchor === undefined ? lacking(asked, { timestamps: 0, witnesses: [] }) : (anchor.lacks ?? []);
  return { ...(await archive.finish()), lacks, name, ...sealed };
}

/** Everything that is known beforehand. */
async function addDocuments(progress: PackInProgress): Promise<void> {
  const { documents } = progress.build;
  const add = (path: string, text: string): Promise<void> =>
    progress.add({ path, bytes: Buffer.from(text) });
  await add(CHECKPOINT, progress.checkpoint.note);
  const { losses } = progress;
  if (losses.length > 0) await progress.add({ path: LOSSES, bytes: lossesFile(losses) });
  await add(DID_DOCUMENT, documents.didDocument());
  await add(JWKS, documents.jwks());
  for (const file of contextFiles(documents)) await progress.add(file);
  await progress.add({ path: SHAPES, bytes: documents.shapes });
}

/** The period that was asked for, and what shows that nothing of it is missing: when its neighbours were integrated. */
async function requestedPeriod({ build }: PackInProgress): Promise<RequestedDocument | undefined> {
  const { period, source, orgId, firstIndex, lastIndex, checkpointSize } = build;
  if (period === undefined) return undefined;
  const { from, to } = period;
  const beside = [firstIndex - 1, lastIndex + 1].filter((i) => i >= 0 && i < checkpointSize);
  const times = new Map(
    (await source.entriesAt(orgId, beside, checkpointSize)).map((entry) => [
      entry.index,
      timeText(entry.integratedAt),
    ]),
  );
  const [before, after] = [times.get(firstIndex - 1), times.get(lastIndex + 1)];
  return {
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
    ...(from === undefined ? {} : { from: timeText(from) }),
    ...(to === undefined
      ? {}
      : { pending: await source.pending(orgId, build, to), to: timeText(to) }),
    type: 'RequestedPeriod',
  };
}

/** What is meant for people, made from what is in the pack. */
async function addReport(
  progress: PackInProgress,
  requested: RequestedDocument | undefined,
): Promise<void> {
  const { build, checkpoint, totals } = progress;
  const stated = await statementOf(progress);
  const page = reportPage({
    name: progress.name,
    issuer: packIssuer(build.issuer.publicUrl).did,
    stated,
    organisation: build.issuer.organisations + build.orgId,
    log: progress.origin,
    losses: progress.losses.map(({ statement }) => statement),
    range: build,
    requested,
    at: timeText(checkpoint.signedAt),
    receipts: build.lastIndex - build.firstIndex + 1,
    revisions: progress.revisionCount,
    superseded: progress.supersededCount,
    totals,
    facts: progress.report,
    years: zoneYears(progress.citations.texts()),
  });
  await progress.add({ path: TOTALS_TABLE, bytes: Buffer.from(totalsTable(totals)) });
  await progress.add({ path: REPORT_STATEMENT, bytes: Buffer.from(canonicalJson(stated)) });
  await progress.add({ path: REPORT_PAGE, bytes: Buffer.from(page) });
}

async function statementOf({
  report: facts,
  build,
  origin,
}: PackInProgress): Promise<ReportStatement> {
  const { operator, source, orgId, createdAt } = build;
  const { evidence, inventory, keptDays, witnessPolicy, ...named } = operator;
  const { generation } = logOfTree(origin);
  const contracts = operator.contracts.map((each) => ({ ...each, name: printable(each.name) }));
  const declared = withContracts(facts.declared(), { contracts });
  return {
    contracts,
    earlier: await source.earlierPacks(orgId, { ...build, generation }, createdAt),
    // What else the operator has papers of is none of this organisation's business.
    evidence: evidence.filter((each) =>
      declared.some(({ input, of }) => input === each.input && of === each.of),
    ),
    ...(inventory === undefined ? {} : { inventory }),
    keptDays,
    operator: partyOf(named),
    organisation: partyOf((await source.organisation(orgId)) ?? {}),
    ...(witnessPolicy === undefined ? {} : { witnessPolicy }),
  };
}

/** What is known of a party. */
function partyOf({
  name,
  identifier,
}: {
  name?: string | undefined;
  identifier?: string | null | undefined;
}): ReportStatement['operator'] {
  const [shownName, shownIdentifier] = [printable(name ?? ''), printable(identifier ?? '')];
  return {
    ...(shownIdentifier ? { identifier: shownIdentifier } : {}),
    ...(shownName ? { name: shownName } : {}),
  };
}

/** The bag's own files, the seal over them, and the manifest over the seal. */
async function seal(
  progress: PackInProgress,
  tags: ManifestLine[],
  {
    anchor,
    requested,
  }: { anchor: AnchorDocument | undefined; requested: RequestedDocument | undefined },
): Promise<{ seal: string; totals: TotalsDocument }> {
  const { build, archive, checkpoint } = progress;
  const issuer = packIssuer(build.issuer.publicUrl);
  const at = new Date(checkpoint.signedAt).toISOString();
  const { orgId } = build;
  const info = bagInfo({
    issuer: issuer.did,
    identifier: issuer.packs + progress.name,
    description: bagDescription(build, progress.origin),
    date: at.slice(0, 10),
    payloadBytes: progress.payloadBytes,
    payloadFiles: progress.manifest.length,
  });
  tags.push(await addTag(archive, BAG_INFO, info));
  tags.push(await addTag(archive, MANIFEST, formatManifest(progress.manifest)));
  const totals = progress.totals.total().document();
  const document = sealDocument({
    issuer,
    orgId,
    organisation: build.issuer.organisations + orgId,
    log: progress.origin,
    range: { ...build, generation: logOfTree(progress.origin).generation },
    root: Buffer.from(checkpoint.root).toString('base64url'),
    at,
    revisions: progress.revisionCount,
    superseded: progress.supersededCount,
    signedHeads: progress.signedHeads,
    ...(anchor === undefined ? {} : { anchor }),
    ...(requested === undefined ? {} : { requested }),
    totals,
    lineage: progress.lineage.counts,
    files: new Map(tags.map(({ path, sha256 }) => [path, base64url(sha256)])),
    resources: progress.citations.resources([...issuer.contexts, ...progress.lineage.contexts]),
  });
  const sealed = await addTag(archive, SEAL, build.signer.signCredential({ ...document }));
  tags.push(sealed);
  await addTag(archive, TAG_MANIFEST, formatManifest(tags));
  return { seal: multihashOf(base64url(sealed.sha256)), totals };
}

async function addTag(
  archive: ArchiveWriter,
  path: string,
  content: string | Uint8Array,
): Promise<ManifestLine> {
  const { sha256 } = await archive.add(path, Buffer.from(content));
  return { path, sha256 };
}

/** VERIFY.md with this pack's names in its commands. */
function instructionsOf({
  build: { documents, issuer },
  name: pack,
  origin,
}: PackInProgress): string {
  const { did, publicUrl } = receiptIssuer(issuer.publicUrl);
  const blanks: Record<string, string> = {
    pack,
    did,
    didUrl: `${publicUrl}/.well-known/did.json`,
    log: origin,
  };
  return documents.instructions.replaceAll(
    /\{\{(\w+)\}\}/g,
    (_, name: string) => blanks[name] ?? '',
  );
}

function base64url(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64url');
}
