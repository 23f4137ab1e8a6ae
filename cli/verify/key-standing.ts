import { encodeBytes } from '#primitives';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { parseAnchorEntry } from '#shared/ledger/anchor-entries.ts';
import {
  type AnchoredHead,
  type AnchorTimestamp,
  checkAnchorProof,
  parseAnchorProof,
} from '#shared/ledger/anchor-proof.ts';
import { type Checkpoint, parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { type Hash, HASH_BYTES, leafHash } from '#shared/ledger/hashing.ts';
import {
  endOfKey,
  judgeKey,
  type KeyIntervals,
  keyIntervals,
  type KeyPurpose,
  type PlacedKeyEvent,
} from '#shared/ledger/key-events.ts';
import { generationAt, type LossStatement } from '#shared/ledger/losses.ts';
import {
  decodeBase64,
  formatNote,
  MalformedLedgerText,
  type SignedNote,
} from '#shared/ledger/notes.ts';
import { anchorOf, logOfTree, treeOrigin } from '#shared/ledger/origins.ts';
import { parseProof, proofHolds } from '#shared/ledger/proof-text.ts';
import { verifyConsistency } from '#shared/ledger/proofs.ts';
import { anchoredHeadText } from '#shared/packs/anchored-head.ts';
import {
  ANCHOR,
  ANCHOR_LOSSES,
  ANCHORED_HEAD,
  anchoredKeyPath,
  CHECKPOINT,
  KEY_EVENTS,
  LOSSES,
  SEAL,
} from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { checkSize, jsonSize } from '#shared/receipts/bounds.ts';
import type { TrustedKey, TrustedKeys } from '#shared/receipts/verify.ts';
import { headSigner } from './head-signer.ts';
import type { Bag } from './bag.ts';
import { numberIn, objectsOf, textOf } from './lines.ts';
import { checkKept, invalid as invalidLoss, type PackedLoss, readLosses } from './losses.ts';

/** A head of the ledger that stands in the anchor log. */
export interface Anchored {
  /** Entries of the ledger under the head. */
  size: number;
  /** Place in the anchor log, and its entries at the checkpoint that the pack leads to. */
  index: number;
  anchorSize: number;
  /** Claims of time-stamping authorities, as yet unchecked. */
  timestamps: readonly AnchorTimestamp[];
  /** What they are of: that checkpoint, with the signatures of witnesses. */
  note: SignedNote;
  origin: string;
}

/**
 * The time for which each key's signatures count. A key that was retired, or got into other hands, still counts for what was anchored
 * before: the ledger shows what is older, and no date that a thief can write.
 */
export interface KeyStanding {
  /** Keys as they are trusted, those that count up to some entry among them. */
  didJson: string;
  anchored: Anchored | null;
  /** What was declared lost of the anchor log, oldest first. */
  losses: readonly LossStatement[];
  /** @throws PackProblem unless the key may have signed, for this purpose, everything up to entry `lastIndex` */
  check(kid: string, purpose: KeyPurpose, lastIndex: number, place: string): void;
}

/** @throws PackProblem `anchor_invalid` when what the pack says of the anchor does not hold */
export function readKeyStanding(bag: Bag, keys: TrustedKeys, didJson: string): KeyStanding {
  if (!bag.manifest.has(KEY_EVENTS)) {
    const odd = [...bag.manifest.keys()].find((path) => path.startsWith(`${ANCHOR}/`));
    if (odd !== undefined)
      throw new PackProblem('extra_file', odd, 'It stands there without key events.');
    if (bag.seal.credentialSubject.anchor !== undefined) {
      throw new PackProblem('anchor_missing', KEY_EVENTS, 'The seal says that it is anchored.');
    }
    return { didJson, anchored: null, losses: [], check: () => {} };
  }
  try {
    return new AnchoredKeys(bag, keys).standing(didJson);
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    throw new PackProblem('anchor_invalid', ANCHOR, `It cannot be read: ${error.message}`);
  }
}

class AnchoredKeys {
  readonly #bag: Bag;
  readonly #keys: TrustedKeys;
  readonly #origin: string;
  /** Of the ledger and of the anchor log, oldest first. */
  readonly #losses: readonly LossStatement[];
  readonly #anchorLosses: readonly PackedLoss[];
  readonly #checkpoint: Checkpoint;
  readonly #intervals: KeyIntervals;
  /** The one signed head of the anchor log that everything leads to. */
  #anchor: { note: SignedNote; size: number; root: Hash } | null = null;
  #events = 0;

  constructor(bag: Bag, keys: TrustedKeys) {
    this.#bag = bag;
    this.#keys = keys;
    const { checkpoint, anchor } = bag.seal.credentialSubject;
    this.#losses = readLosses(bag, LOSSES, checkpoint.log).map(({ statement }) => statement);
    const own = anchorOf(checkpoint.log);
    // Which tree of the anchor log it is, the seal says; statements in the pack must lead there.
    this.#origin = treeOrigin(own, logOfTree(anchor?.log ?? own).generation);
    this.#anchorLosses = readLosses(bag, ANCHOR_LOSSES, this.#origin);
    this.#checkpoint = parseCheckpoint(bag.read(CHECKPOINT)).checkpoint;
    this.#intervals = keyIntervals(this.#readEvents());
    this.#checkAnchorKey();
    for (const loss of this.#anchorLosses) this.#checkAnchorLoss(loss);
  }

  standing(didJson: string): KeyStanding {
    const limits = this.#limits();
    const { issuer, proof } = this.#bag.seal;
    if (judgeKey(this.#intervals.get(proof.verificationMethod), 'packs', null) !== 'good') {
      throw outside(SEAL, proof.verificationMethod, 'may not seal packs');
    }
    const hasHead = this.#bag.manifest.has(ANCHORED_HEAD);
    const anchored = hasHead ? this.#describe(ANCHORED_HEAD) : null;
    this.#compareSealed(anchored);
    return {
      didJson: trustedAgain(didJson, issuer, this.#intervals),
      anchored,
      losses: this.#anchorLosses.map(({ statement }) => statement),
      check: (kid, purpose, lastIndex, place) => {
        const interval = this.#intervals.get(kid);
        if (interval?.purpose !== purpose) throw outside(place, kid, `is none for ${purpose}`);
        const limit = limits.get(kid) ?? Infinity;
        if (lastIndex >= limit) {
          throw outside(place, kid, `counts only for entries below ${limit} of the ledger`);
        }
      },
    };
  }

  /** The seal says what of the anchor there must be. */
  #compareSealed(anchored: Anchored | null): void {
    const { anchor: sealed } = this.#bag.seal.credentialSubject;
    const isAnchor = (path: string): boolean => path.startsWith(`${ANCHOR}/keys/`);
    const { size, root } = this.#anchor!;
    const found = {
      headSize: anchored?.size ?? 0,
      keyEvents: this.#events,
      keyHeads: [...this.#bag.manifest.keys()].filter(isAnchor).length,
      log: this.#origin,
      root: multihashOf(encodeBytes(root, 'base64url')),
      size,
      timestamps: anchored?.timestamps.length ?? 0,
      type: 'PackAnchor',
    };
    // What it lacks is the word of who sealed; what it has is found here.
    const { lacks: _, ...stated } = sealed ?? {};
    if (canonicalJson(found) !== canonicalJson(stated)) {
      throw new PackProblem('anchor_missing', SEAL, 'The seal says another anchor than there is.');
    }
  }

  #lines() {
    return objectsOf(this.#bag.read(KEY_EVENTS), KEY_EVENTS, ['entry', 'index', 'proof']);
  }

  #readEvents(): PlacedKeyEvent[] {
    return [...this.#lines()].map((line) => {
      const { entry: text, proof: proofText } = line as { entry?: unknown; proof?: unknown };
      const index = numberIn(line, 'index', KEY_EVENTS);
      if (typeof text !== 'string' || typeof proofText !== 'string') throw invalid(KEY_EVENTS);
      const event = parseAnchorEntry(text);
      const proof = parseProof(proofText);
      const holds =
        proof.index === index &&
        proof.extra === undefined &&
        proofHolds(proof, leafHash(new TextEncoder().encode(text)));
      if (event.type !== 'key' || !holds) throw invalid(KEY_EVENTS);
      this.#takeAnchor(proof.note, proof.tree, KEY_EVENTS);
      this.#events += 1;
      return { index, event };
    });
  }

  /** All proofs lead to one head of the anchor log. */
  #takeAnchor(
    note: SignedNote,
    { origin, size, root, extensions }: Checkpoint,
    place: string,
  ): void {
    if (extensions.length > 0) throw invalid(place);
    this.#anchor ??= { note, size, root };
    // With its signatures: what one proof has of witnesses, and another has not, was added or taken away.
    const isSame = formatNote(note) === formatNote(this.#anchor.note);
    if (origin !== this.#origin || !isSame) throw invalid(place);
    if (this.#signer(note, () => true) === null) throw invalid(place);
  }

  /** The key that signed the anchor's head was for that, then. */
  #checkAnchorKey(): void {
    const first = this.#lines().next().value;
    const { note, tree } = parseProof(String(first?.['proof']));
    const good = (kid: string): boolean =>
      judgeKey(this.#intervals.get(kid), 'anchor', tree.size - 1) === 'good';
    if (this.#signer(note, good) === null) {
      throw new PackProblem('anchor_invalid', KEY_EVENTS, 'No key for the anchor has signed it.');
    }
  }

  /** It was declared before the first entry of the successor, by a key for the anchor. */
  #checkAnchorLoss(loss: PackedLoss): void {
    checkKept(loss, this.#anchor!, ANCHOR_LOSSES);
    const { kept } = loss.statement;
    const good = (kid: string): boolean => {
      const interval = this.#intervals.get(kid);
      // What was lost of the history of keys is written again behind the statement.
      const at = Math.max(kept.size, interval?.addedAt ?? 0);
      return judgeKey(interval, 'anchor', at) === 'good';
    };
    if (loss.note.signatures.length !== 1 || this.#signer(loss.note, good) === null) {
      throw invalidLoss(ANCHOR_LOSSES, 'No key for the anchor has signed it.');
    }
  }

  /** For each key that may not sign any more how many entries were anchored while it might. */
  #limits(): Map<string, number> {
    const limits = new Map<string, number>();
    const wanted = new Set<string>();
    for (const interval of this.#intervals.values()) {
      const end = endOfKey(interval);
      if (end === null) continue;
      const path = anchoredKeyPath(interval.key);
      wanted.add(path);
      const found = this.#bag.manifest.has(path) ? this.#readHead(path) : null;
      if (found !== null && found.index >= end) throw invalid(path);
      limits.set(interval.key, found?.head.size ?? 0);
    }
    for (const path of this.#bag.manifest.keys()) {
      if (!path.startsWith(`${ANCHOR}/keys/`) || wanted.has(path)) continue;
      throw new PackProblem('extra_file', path, 'Its key may still sign, or is none.');
    }
    return limits;
  }

  #describe(path: string): Anchored {
    const { head, index, anchor } = this.#readHead(path);
    const { timestamps } = parseAnchorProof(
      JSON.stringify(fileOf(this.#bag.read(path), path).proof),
    );
    const { note } = this.#anchor!;
    const { origin, size: anchorSize } = anchor;
    return { size: head.size, index, anchorSize, timestamps, note, origin };
  }

  /** A head of this ledger that is in the anchor, and a beginning of the one that the pack leads to. */
  #readHead(path: string): AnchoredHead {
    const { consistency, proof } = fileOf(this.#bag.read(path), path);
    const found = checkAnchorProof(parseAnchorProof(JSON.stringify(proof)));
    this.#takeAnchor(found.anchorNote, found.anchor, path);
    const { head, headNote, index } = found;
    const { size, root } = this.#checkpoint;
    const continues = verifyConsistency({
      oldSize: head.size,
      newSize: size,
      oldRoot: head.root,
      newRoot: root,
      proof: consistency,
    });
    const good = (kid: string): boolean =>
      judgeKey(this.#intervals.get(kid), 'checkpoints', index) === 'good';
    const { log } = logOfTree(this.#bag.seal.credentialSubject.checkpoint.log);
    const ours = head.origin === treeOrigin(log, generationAt(this.#losses, head.size));
    if (!ours || !continues || head.extensions.length > 0 || this.#signer(headNote, good) === null)
      throw invalid(path);
    return found;
  }

  /** The trusted key of the issuer that signed a note and passes. */
  #signer(note: SignedNote, passes: (kid: string) => boolean): TrustedKey | null {
    const { issuer } = this.#bag.seal;
    const isOurs = (kid: string, { controller }: TrustedKey): boolean =>
      controller === issuer && passes(kid);
    return headSigner(note, this.#keys, isOurs)?.[1] ?? null;
  }
}

/**
 * A did.json may mark a key as revoked, and cannot say since when. Where the anchor says it, the mark gives way to that:
 * `check` then refuses what is not older.
 */
function trustedAgain(didJson: string, issuer: string, intervals: KeyIntervals): string {
  const did = JSON.parse(didJson) as {
    verificationMethod: { id: string; revoked?: unknown; controller: string }[];
    assertionMethod: string[];
  };
  for (const method of did.verificationMethod) {
    const interval = intervals.get(method.id);
    if (method.revoked === undefined || method.controller !== issuer) continue;
    if (interval === undefined || interval.compromisedFrom === null) continue;
    delete method.revoked;
    if (interval.purpose === 'receipts') did.assertionMethod.push(method.id);
  }
  return JSON.stringify(did);
}

function fileOf(bytes: Uint8Array, path: string): { consistency: Hash[]; proof: object } {
  let fields: { consistency?: unknown; proof?: unknown };
  try {
    const text = textOf(bytes, path);
    checkSize(jsonSize(text));
    fields = JSON.parse(text) as typeof fields;
  } catch {
    throw invalid(path);
  }
  const { consistency, proof } = fields;
  if (!Array.isArray(consistency) || typeof proof !== 'object' || proof === null)
    throw invalid(path);
  const hashes = consistency.map((each) => hashOf(each, path));
  // There is one form of what it says.
  if (anchoredHeadText(hashes, parseAnchorProof(JSON.stringify(proof))) !== textOf(bytes, path)) {
    throw invalid(path);
  }
  return { consistency: hashes, proof };
}

function hashOf(text: unknown, path: string): Hash {
  const bytes = typeof text === 'string' ? decodeBase64(text) : null;
  if (bytes?.length !== HASH_BYTES) throw invalid(path);
  return bytes;
}

function invalid(path: string): PackProblem {
  return new PackProblem('anchor_invalid', path, 'It does not lead to the anchor log.');
}

function outside(place: string, kid: string, why: string): PackProblem {
  return new PackProblem('key_outside_interval', place, `By the anchor log the key ${kid} ${why}.`);
}
