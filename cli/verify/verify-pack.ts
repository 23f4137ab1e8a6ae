import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import type { SealDocument } from '#shared/packs/seal-format.ts';
import { DID_DOCUMENT } from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import type { TrustedKeys } from '#shared/receipts/verify.ts';
import { checkSeal, openBag } from './bag.ts';
import { CitedDocuments } from './documents.ts';
import { type Anchored, readKeyStanding } from './key-standing.ts';
import { LedgerWalk } from './ledger.ts';
import { textOf } from './lines.ts';
import { openPack } from './pack-file.ts';
import { PackWalk, type SeenOnWalk } from './pack-walk.ts';

export interface PackVerdict extends SeenOnWalk {
  good: boolean;
  code: 'good' | PackProblem['code'];
  /** One sentence for a person. */
  message: string;
  /** The file or entry that shows the problem. */
  place?: string;
  /** The seal as far as it could be read; a bad pack's seal proves nothing. */
  seal?: SealDocument;
  /** The keys were the pack's own: the verdict shows that it is whole, not whose it is. */
  ownKeys: boolean;
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

/** Judges whether a pack is what its issuer sealed and logged, whole and unchanged: offline, in constant memory. */
export async function verifyPack(path: string, options: VerifyPackOptions): Promise<PackVerdict> {
  const seen: Seen = {
    ownKeys: options.didJson === undefined,
    signers: {},
    heads: 0,
    anchored: null,
    lineage: null,
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

/** Facts learnt before a problem came up. */
type Seen = SeenOnWalk & Pick<PackVerdict, 'ownKeys' | 'anchored' | 'seal'>;

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
    // Files that nothing above had to read are compared with their digests here.
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
