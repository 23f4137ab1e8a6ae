import { sha256 } from '#primitives';
import { HASH_BYTES, leafHash, nodeHash, type Hash } from './hashing.ts';
import { parseNote } from './notes.ts';

/**
 * The heads tree always has room for 2^20 organisations, however few there are: the length of a path
 * and the number of a slot then do not tell how many there are.
 */
export const HEADS_HEIGHT = 20;
export const HEADS_SLOTS = 2 ** HEADS_HEIGHT;

/** A secret is 256 random bits, new for each tree. */
export const SECRET_BYTES = 32;

/** Neither is 0x00 or 0x01: what is derived here can pass for no leaf and no node. */
const SALT_TAG = 0x10;
const PADDING_TAG = 0x11;

/** The salt of a slot's leaf. Its holder can recompute that leaf, and learns nothing of any other. */
export function saltOf(secret: Uint8Array, slot: number): Hash {
  return derive(SALT_TAG, secret, 0, slot);
}

/** The leaf of an organisation: SHA-256(0x00 || salt || checkpoint text), the text up to the newline before the empty line. */
export function headLeaf(salt: Uint8Array, checkpointText: string): Hash {
  const text = new TextEncoder().encode(checkpointText);
  const entry = new Uint8Array(salt.length + text.length);
  entry.set(salt);
  entry.set(text, salt.length);
  return leafHash(entry);
}

/**
 * The RFC 6962 tree over all slots. Where no slot is taken, a whole subtree is one pseudo-random hash:
 * without the secret it looks like any other, and a tree of few organisations costs few hashes.
 */
export class HeadsTree {
  readonly #secret: Uint8Array;
  /** Hashes of each height that are not padding, by index. */
  readonly #rows: ReadonlyMap<number, Hash>[];

  /** @param leaves what `headLeaf` gave, by slot. */
  constructor(secret: Uint8Array, leaves: ReadonlyMap<number, Hash>) {
    if (secret.length !== SECRET_BYTES) throw new RangeError('a secret has 32 bytes');
    this.#secret = secret;
    this.#rows = [leaves];
    for (let height = 0; height < HEADS_HEIGHT; height += 1) this.#rows.push(this.#above(height));
  }

  #above(height: number): Map<number, Hash> {
    const row = new Map<number, Hash>();
    for (const [index, own] of this.#rows[height]!) {
      const parent = index >> 1;
      if (row.has(parent)) continue;
      const sibling = this.#hash(height, index ^ 1);
      row.set(parent, index % 2 === 0 ? nodeHash(own, sibling) : nodeHash(sibling, own));
    }
    return row;
  }

  #hash(height: number, index: number): Hash {
    return this.#rows[height]!.get(index) ?? derive(PADDING_TAG, this.#secret, height, index);
  }

  get root(): Hash {
    return this.#hash(HEADS_HEIGHT, 0);
  }

  /** The proof for a slot, the leaf's sibling first, as `verifyInclusion` takes it in a tree of `HEADS_SLOTS`. */
  path(slot: number): Hash[] {
    return Array.from({ length: HEADS_HEIGHT }, (_, height) =>
      this.#hash(height, (slot >> height) ^ 1),
    );
  }
}

/** The tree over these checkpoints, each a signed note in its slot. */
export function headsTreeOf(
  secret: Uint8Array,
  heads: readonly { slot: number; note: string }[],
): HeadsTree {
  return headsTreeOfTexts(
    secret,
    heads.map(({ slot, note }) => ({ slot, text: parseNote(note).text })),
  );
}

/** The same from what the checkpoints sign. */
export function headsTreeOfTexts(
  secret: Uint8Array,
  heads: Iterable<{ slot: number; text: string }>,
): HeadsTree {
  const leaves = new Map<number, Hash>();
  for (const { slot, text } of heads) leaves.set(slot, headLeaf(saltOf(secret, slot), text));
  return new HeadsTree(secret, leaves);
}

const message = new Uint8Array(1 + SECRET_BYTES + 1 + 4);

/** SHA-256 over a message of fixed length that begins with the secret's place: a pseudo-random function of the rest. */
function derive(tag: number, secret: Uint8Array, height: number, index: number): Hash {
  message[0] = tag;
  message.set(secret, 1);
  message[1 + HASH_BYTES] = height;
  new DataView(message.buffer).setUint32(2 + HASH_BYTES, index);
  return sha256(message);
}
