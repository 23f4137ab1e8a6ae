import { sha256Text } from '#primitives';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import type { SealDocument } from '#shared/packs/seal-format.ts';
import type { LossStatement } from '#shared/ledger/losses.ts';
import { logOfTree } from '#shared/ledger/origins.ts';
import {
  ANCHORED_HEAD,
  DID_DOCUMENT,
  methodologyPath,
  REPORT_STATEMENT,
  SCRIPT,
  SEAL,
} from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { evidenceOf } from '#shared/packs/report/declared.ts';
import type { TrustedKeys } from '#shared/receipts/verify.ts';
import { checkSeal, openBag } from './bag.ts';
import { CitedDocuments } from './documents.ts';
import { noClaims } from './claims.ts';
import { CannotJudge } from './cannot-judge.ts';
import { type Anchored, readKeyStanding } from './key-standing.ts';
import { LedgerWalk } from './ledger.ts';
import { textOf } from './lines.ts';
import { checkOwnKeys } from './own-keys.ts';
import { isArchive, openPack, type PackBytes } from './pack-file.ts';
import { type GivenStatement, type JudgedStatement, judgeStatement } from './pack-statement.ts';
import type { ReleasedDocuments, UnreleasedMethodology } from './released.ts';
import {
  type JudgedWitnesses,
  judgeOwnPolicy,
  judgeWitnesses,
  readDemands,
  type WitnessDemands,
} from './witnesses.ts';
import { type JudgeShards, PackWalk, type SeenOnWalk } from './pack-walk.ts';

/** A timestamp of the anchor. Its time is known only once imprint, signature and chain were checked. */
export interface JudgedTimestamp {
  authority: string;
  /** Null when it was not checked: no authority was named, or none to which it leads. */
  time: string | null;
}

/** The archive, and what judging it takes from where it runs. */
export interface PackTools {
  archive: PackBytes;
  judgeShards: JudgeShards;
  /** What this release ships, with which the methodologies of the pack are compared. */
  released: () => ReleasedDocuments;
  /** Checks the timestamps of an anchor; without it none is looked at. */
  judgeTimestamps?: (anchored: Anchored) => Promise<JudgedTimestamp[]>;
}

/** `intact`: the pack agrees with itself, by keys of its own; whose it is was not said. */
export type Verdict = 'good' | 'intact' | 'bad' | 'cannot_judge';

export interface PackVerdict extends SeenOnWalk {
  verdict: Verdict;
  /** `good` for an intact one too; `cannot_judge` when judging takes more than there is. */
  code: 'good' | 'cannot_judge' | PackProblem['code'];
  /** One sentence for a person. */
  message: string;
  /** The file or entry that shows the problem. */
  place?: string;
  /** The seal as far as it could be read; a bad pack's seal proves nothing. */
  seal?: SealDocument;
  /** What the issuer has declared lost of the ledger and of the anchor log, oldest first. */
  losses: readonly LossStatement[];
  /** The newest head in the anchor log, if the pack has one. */
  anchored: Anchored | null;
  timestamps: JudgedTimestamp[];
  /** What the witnesses have said that were asked for, or that the operator names; null where neither is. */
  witnesses: JudgedWitnesses | null;
  /** Methodologies of receipts that no release has. */
  unreleased: UnreleasedMethodology[];
  /** Of the files that were given as evidence, all of which the pack names. */
  evidence: readonly GivenEvidence[];
  /** What a person states of the pack; null where nothing was given. */
  stated: JudgedStatement | null;
  /** SHA-256 (hex) of the script in the pack. */
  script?: string;
}

/** A file that an operator gave as evidence, by what it holds. */
export interface GivenEvidence {
  /** What it is called in the words. */
  name: string;
  /** Hex. */
  sha256: string;
}

export interface JudgePackOptions extends WitnessDemands {
  /** did.json of the issuer; the pack's own when absent. */
  didJson?: string;
  /** SHA-256 (hex) of the did.json in the pack, from the issuer: then that one is trusted. */
  pin?: string;
  /** Refuses a pack whose range is not anchored to its end. */
  requireAnchor?: boolean;
  /** Refuses a pack whose range is not under a timestamp that could be checked. */
  requireTimestamp?: boolean;
  /** Refuses a pack with receipts by a methodology, or factors, that were not released. */
  requireReleasedMethodology?: boolean;
  /** Files that are to be what the pack names as evidence. */
  evidence?: readonly GivenEvidence[];
  /** What a person states of the pack, in a file beside it. */
  statement?: GivenStatement;
  /** Epoch milliseconds. */
  now: number;
  onProgress?: (done: number, total: number) => void;
}

/** Judges whether a pack is what its issuer sealed and logged, whole and unchanged: offline, in constant memory. */
export async function judgePack(tools: PackTools, options: JudgePackOptions): Promise<PackVerdict> {
  const seen = nothingSeen();
  try {
    await examine(tools, options, seen);
    const isTrusted = options.didJson !== undefined || options.pin !== undefined;
    const verdict = isTrusted ? 'good' : 'intact';
    return { verdict, code: 'good', message: isTrusted ? GOOD : INTACT, ...seen };
  } catch (error) {
    if (error instanceof CannotJudge) return cannotBeJudged(error.message, seen);
    if (!(error instanceof PackProblem)) throw error;
    const { code, message, place } = error;
    // A pack of a later release is not a bad one.
    const verdict = code === 'unknown_format' ? 'cannot_judge' : 'bad';
    return { verdict, code, message, place, ...seen };
  }
}

/** The verdict when what judging takes is not there. */
export function cannotBeJudged(message: string, seen: Seen = nothingSeen()): PackVerdict {
  return { verdict: 'cannot_judge', code: 'cannot_judge', message, ...seen };
}

function nothingSeen(): Seen {
  return {
    signers: {},
    heads: 0,
    losses: [],
    anchored: null,
    timestamps: [],
    witnesses: null,
    unreleased: [],
    lineage: null,
    claims: noClaims(),
    hours: [],
    statement: null,
    declared: [],
    evidence: [],
    stated: null,
  };
}

const GOOD = 'The pack is whole: every receipt is signed, in the ledger, and in its place.';
const INTACT =
  'The pack agrees with itself, by keys that it brings along: anyone may have made it.';

/** Facts learnt before a problem came up. */
type Seen = SeenOnWalk &
  Pick<
    PackVerdict,
    | 'losses'
    | 'anchored'
    | 'timestamps'
    | 'witnesses'
    | 'unreleased'
    | 'evidence'
    | 'stated'
    | 'seal'
    | 'script'
  >;

async function examine(
  { archive, judgeShards, judgeTimestamps, released }: PackTools,
  options: JudgePackOptions,
  seen: Seen,
): Promise<void> {
  const trusted = options.didJson === undefined ? undefined : namedKeys(options.didJson);
  const demands = readDemands(options);
  if (!isArchive(archive)) throw new CannotJudge('It is no pack: it is not a ZIP archive.');
  const pack = openPack(archive);
  const bag = openBag(pack);
  const { proof: _, ...seal } = bag.seal;
  seen.seal = seal;
  seen.script = sha256Text(pack.read(SCRIPT), 'hex');
  const own = bag.read(DID_DOCUMENT);
  if (options.pin !== undefined && sha256Text(own, 'hex') !== options.pin.toLowerCase()) {
    throw new PackProblem('keys_mismatch', DID_DOCUMENT, 'It is not the one that was pinned.');
  }
  const didJson = options.didJson ?? textOf(own, DID_DOCUMENT);
  const published = trusted ?? keysOf(didJson);
  checkSeal(bag.seal, published, options.now);
  const ownKeys = checkOwnKeys(bag, published);
  const standing = readKeyStanding(bag, published, didJson);
  seen.anchored = standing.anchored;
  const documents = new CitedDocuments(bag);
  const ledger = new LedgerWalk(bag, keysOf(standing.didJson), standing);
  seen.losses = [...ledger.losses, ...standing.losses];
  const walk = new PackWalk(bag, documents, ledger, { seen, standing, judgeShards });
  const { organisation, checkpoint } = bag.seal.credentialSubject;
  await walk.judge(
    {
      didJson: standing.didJson,
      issuer: bag.seal.issuer,
      organisation,
      // Receipts name the log, whichever of its trees they are in.
      log: logOfTree(checkpoint.log).log,
      now: options.now,
      sealedAt: Date.parse(bag.seal.validFrom),
      published: ownKeys,
      derivations: documents.derivations(),
    },
    options.onProgress ?? (() => {}),
  );
  documents.finish();
  seen.unreleased = documents.unreleased(released());
  // Files that nothing above had to read are compared with their digests here.
  for (const file of bag.manifest.keys()) if (!walk.wasJudged(file)) bag.read(file);
  if (seen.anchored !== null) {
    seen.timestamps = (await judgeTimestamps?.(seen.anchored)) ?? unchecked(seen.anchored);
  }
  const { lastIndex } = bag.seal.credentialSubject.range;
  const policy = seen.statement?.witnessPolicy;
  if (demands !== null) seen.witnesses = judgeWitnesses(demands, seen.anchored, lastIndex);
  else if (policy !== undefined) seen.witnesses = judgeOwnPolicy(policy, seen.anchored, lastIndex);
  checkRequired(options, seen);
  seen.evidence = checkEvidence(options.evidence ?? [], seen);
  if (options.statement !== undefined) {
    const of = { pack: bag.seal.credentialSubject.id, seal: multihashOfContent(pack.read(SEAL)) };
    seen.stated = judgeStatement(options.statement, of);
  }
}

/** Is each file one that the pack names, for something that its receipts take from the operator's word? */
function checkEvidence(
  given: readonly GivenEvidence[],
  { statement, declared }: Pick<Seen, 'statement' | 'declared'>,
): readonly GivenEvidence[] {
  const inputs = declared.flatMap((each) => evidenceOf(each, statement?.evidence ?? []));
  const named = new Set(inputs.map(({ sha256 }) => sha256));
  const other = given.find(({ sha256 }) => !named.has(sha256));
  if (other === undefined) return given;
  const message = `${other.name} (SHA-256 ${other.sha256}) is not among the evidence that the pack names for what it declares.`;
  throw new PackProblem('evidence_mismatch', REPORT_STATEMENT, message);
}

function unchecked({ timestamps }: Anchored): JudgedTimestamp[] {
  return timestamps.map(({ authority }) => ({ authority, time: null }));
}

/** Is the range anchored to its end, under a time that could be checked, and by what was released, where that is asked for? */
function checkRequired(
  { requireAnchor, requireTimestamp, requireReleasedMethodology }: JudgePackOptions,
  { anchored, timestamps, unreleased, seal }: Seen,
): void {
  const [own] = unreleased;
  if (requireReleasedMethodology === true && own !== undefined) {
    const message = `A released methodology was required, and ${own.name} ${own.version} (${own.digest}) is of no release that is known here.`;
    throw new PackProblem(
      'methodology_unreleased',
      methodologyPath(own.name, own.version),
      message,
    );
  }
  const covers = (anchored?.size ?? 0) > seal!.credentialSubject.range.lastIndex;
  if (requireAnchor === true && !covers) {
    const message = 'An anchor over the whole range was required, and there is none.';
    throw new PackProblem('anchor_missing', ANCHORED_HEAD, message);
  }
  if (requireTimestamp === true && !(covers && timestamps.some(({ time }) => time !== null))) {
    const message = 'A checked timestamp over the whole range was required, and there is none.';
    throw new PackProblem('timestamp_missing', ANCHORED_HEAD, message);
  }
}

function namedKeys(didJson: string): TrustedKeys {
  try {
    return trustedKeysOf(didJson);
  } catch (error) {
    throw new CannotJudge(`The did.json to be trusted cannot be read: ${(error as Error).message}`);
  }
}

function keysOf(didJson: string): TrustedKeys {
  try {
    return trustedKeysOf(didJson);
  } catch (error) {
    throw new PackProblem('unknown_key', DID_DOCUMENT, (error as Error).message);
  }
}
