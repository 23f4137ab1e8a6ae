/** Where things lie in an evidence pack (docs/evidence-pack.md). Paths are relative to the bag. */

/** The forms of packs that this code reads. docs/compatibility.md says from when on a change is another form. */
export const PACK_FORMATS = ['docket-evidence-pack/1'] as const;
export type PackFormat = (typeof PACK_FORMATS)[number];
/** The one that it writes. */
export const PACK_FORMAT: PackFormat = 'docket-evidence-pack/1';

/**
 * Versions of the page for people that this code makes. It has a number of its own, in the seal: a word on it may change
 * without another format of packs, and who does not know a number says that the page is not checked.
 */
const PAGE_VERSIONS = [1] as const;
/** The one that it writes. */
export const PAGE_VERSION: (typeof PAGE_VERSIONS)[number] = 1;

/** Can the page of this version be made again? */
export function isKnownPage(version: number): boolean {
  return PAGE_VERSIONS.some((known) => known === version);
}

/** Lines of a shard: a file that people can open, of about 34 MB. */
export const SHARD_LINES_MAX = 10_000;
/** A shard of unusually long receipts ends earlier, so that one always fits in memory. */
export const SHARD_BYTES_MAX = 64 * 1_048_576;

/** Packs above this are refused when they are asked for: 340 GB of receipts. */
export const PACK_ENTRIES_MAX = 100_000_000;

/**
 * Lineage documents of one pack, of some 63 KB each. A hundred models in three regions, with short and with long
 * contexts, stay below; and making or verifying that many takes less than 300 MB of memory.
 */
export const LINEAGE_DOCUMENTS_MAX = 1_000;

export const SEAL = 'evidence-pack.jsonld';
export const MANIFEST = 'manifest-sha256.txt';
export const TAG_MANIFEST = 'tagmanifest-sha256.txt';
export const BAG_DECLARATION = 'bagit.txt';
export const BAG_INFO = 'bag-info.txt';
export const INSTRUCTIONS = 'VERIFY.md';
export const SCRIPT = 'verify.py';

/** Files beside the payload, which the seal pins one by one; in the order of the archive, the payload after the third. */
export const TAG_FILES = [BAG_DECLARATION, INSTRUCTIONS, SCRIPT, BAG_INFO, MANIFEST] as const;

/** Every file of a pack in the order of its archive. @param payload in the order of the manifest */
export function archiveOrder(payload: Iterable<string>): string[] {
  return [...TAG_FILES.slice(0, 3), ...payload, ...TAG_FILES.slice(3), SEAL, TAG_MANIFEST];
}

/** Each line the exact bytes of a ledger entry, in the order of the ledger. */
export const RECEIPTS = 'data/receipts';
/** The same for revisions of these receipts that came after the range. */
export const REVISIONS = 'data/revisions';
/** For each line of a shard of revisions its place and the path that proves it. */
export const REVISION_PROOFS = 'data/revision-proofs';
/** For each shard of either kind the entries in it that were revised, and by which. Absent when there are none. */
export const SUPERSEDED = 'data/superseded';
/** The signed tree heads within the range. */
export const CHECKPOINTS = 'data/ledger/checkpoints';
/** The signed tree head that everything in the pack leads to. */
export const CHECKPOINT = 'data/ledger/checkpoint.txt';
/** Losses that were declared of the ledger before the checkpoint, each with the way from what was kept to that. */
export const LOSSES = 'data/ledger/losses.ndjson';
/** Roots of the perfect subtrees left of the range, largest first. */
export const LEFT_FRONTIER = 'data/ledger/left-frontier.txt';
/** RFC 6962 consistency proof from the end of the range to the checkpoint. */
export const CONSISTENCY = 'data/ledger/consistency.txt';
export const DID_DOCUMENT = 'data/keys/did.json';
export const JWKS = 'data/keys/jwks.json';
export const KEY_EVENTS = 'data/keys/events.ndjson';
export const CONTEXTS = 'data/contexts';
/** What a receipt must say, in SHACL. */
export const SHAPES = 'data/shapes/docket-receipt-shapes.jsonld';
/** Derivation records that receipts of the pack name, each under its digest. */
export const DERIVATIONS = 'data/derivations';
export const METHODOLOGIES = 'data/methodologies';
/** For each derivation the lineage of its first receipt, under that receipt's index. */
export const LINEAGE = 'data/lineage';
export const ANCHOR = 'data/anchor';
/** The same as of the ledger, of the anchor log. */
export const ANCHOR_LOSSES = `${ANCHOR}/losses.ndjson`;
/** What is meant for people. */
export const REPORT = 'data/report';
export const REPORT_PAGE = `${REPORT}/report.html`;
export const TOTALS_TABLE = `${REPORT}/totals.csv`;
/** What the page says beside what receipts do, names and contracts. */
export const REPORT_STATEMENT = `${REPORT}/stated.json`;

const PLACES = [
  /^data\/(?:receipts|superseded|revisions|revision-proofs|ledger\/checkpoints)\/\d{12}\.ndjson$/,
  /^data\/ledger\/(?:checkpoint|left-frontier|consistency)\.txt$/,
  /^data\/(?:ledger|anchor)\/losses\.ndjson$/,
  /^data\/keys\/(?:did\.json|jwks\.json|events\.ndjson)$/,
  /^data\/anchor\/(?:head|keys\/[A-Za-z0-9_-]{43})\.json$/,
  /^data\/shapes\/docket-receipt-shapes\.jsonld$/,
  /^data\/contexts\/[A-Za-z0-9._-]+\.jsonld$/,
  /^data\/methodologies\/[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+\.json$/,
  /^data\/derivations\/uEi[A-Za-z0-9_-]{44}\.json$/,
  /^data\/lineage\/\d{12}\.jsonld$/,
  /^data\/report\/(?:report\.html|stated\.json|totals\.csv|(?:receipts|revisions)\/\d{12}\.csv)$/,
];

/** May a payload file lie here? One elsewhere, or under another name, is none of a pack's. */
export function isPlaceOfPack(path: string): boolean {
  return PLACES.some((place) => place.test(path));
}

/** The newest head of the ledger that is anchored. */
export const ANCHORED_HEAD = `${ANCHOR}/head.json`;

/** For a key that may not sign any more, the newest head that was anchored while it might. */
export function anchoredKeyPath(keyId: string): string {
  return `${ANCHOR}/keys/${keyId.slice(keyId.indexOf('#') + 1)}.json`;
}

/** A shard is named by the index of its first entry. */
export function shardPath(folder: string, firstIndex: number): string {
  return `${folder}/${indexText(firstIndex)}.ndjson`;
}

/** The table of a shard of receipts or revisions. */
export function tablePath(shard: string): string {
  return `${REPORT}/${shard.slice('data/'.length).replace(/ndjson$/, 'csv')}`;
}

/** Where a pack keeps the lineage document of the entry with this index. */
export function lineagePath(index: number): string {
  return `${LINEAGE}/${indexText(index)}.jsonld`;
}

/** The index in the name of a lineage document, or undefined when it is not named as one. */
export function lineageIndex(path: string): number | undefined {
  const digits = /^data\/lineage\/(\d{12})\.jsonld$/.exec(path)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Twelve digits sort like numbers. */
function indexText(index: number): string {
  return String(index).padStart(12, '0');
}

/** What a pack holds: entries `firstIndex` to `lastIndex` of a log as of a signed tree head. */
export interface PackRange {
  firstIndex: number;
  lastIndex: number;
  /** Entries of the tree at the checkpoint. */
  checkpointSize: number;
  /** Which tree of the log that is a head of; the first when absent. */
  generation?: number;
  /** The time of integration that was asked for, if one was. */
  period?: PackPeriod | undefined;
}

/** Epoch milliseconds, `from` included, `to` excluded; either end may be open, not both. */
interface PackPeriod {
  from?: number;
  to?: number;
}

/** The folder in the archive, and the name of the archive without `.zip`. Equal packs have equal names. */
export function packName(orgId: string, range: PackRange): string {
  const { firstIndex, lastIndex, checkpointSize, generation = 1, period } = range;
  const tree = generation === 1 ? '' : `-of-tree-${generation}`;
  const asked =
    period === undefined ? '' : `${timeName(period.from)}-to-${timeName(period.to)}-entries-`;
  const organisation = orgId.slice(orgId.indexOf('_') + 1);
  return `evidence-pack-${organisation}-${asked}${firstIndex}-${lastIndex}-at-${checkpointSize}${tree}`;
}

/** A time in a file's name: the day where it is midnight, UTC. */
function timeName(ms: number | undefined): string {
  if (ms === undefined) return 'open';
  return new Date(ms)
    .toISOString()
    .replaceAll(/[-:.]/g, '')
    .replace(/T000000000Z$/, '');
}

/** Where a pack keeps the document of a methodology. */
export function methodologyPath(name: string, version: string): string {
  return `${METHODOLOGIES}/${name}/${version}.json`;
}

/** Where a pack keeps a derivation record. @param digest its multihash */
export function derivationPath(digest: string): string {
  return `${DERIVATIONS}/${digest}.json`;
}

/** More derivation records than a pack has: a hundred models in forty regions. */
export const DERIVATIONS_MAX = 4_096;

/** How a shard of bodies is being filled: whether one more line still belongs to it. */
export function shardIsFull(lines: number, bytes: number, nextBytes: number): boolean {
  return lines > 0 && (lines >= SHARD_LINES_MAX || bytes + nextBytes > SHARD_BYTES_MAX);
}
