import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type DecipherGCM,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { nextTurn } from '#shared/kernel/turns.ts';

/**
 * Prompts and answers never rest in clear: what travels through Redis or waits in PostgreSQL is sealed with AES-256-GCM.
 * A sealed value opens only in the place that it was sealed for, which is part of what is authenticated, so that one
 * cannot be put where another belongs.
 *
 * Layout: version (1), id of the key (4), salt (16), counter (6), ciphertext, tag (16). The key that encrypts is derived
 * from the lane key and the salt (HKDF-SHA256). Each start of a process has a random salt of its own, so its counter is
 * all that a nonce needs: with random nonces one key would be worn out after 2^32 messages, which is days here.
 */

/** A key of 32 bytes, as its file holds it. */
export interface LaneKey {
  /** Eight hexadecimal digits, made from its bytes: what a sealed value names it by. */
  id: string;
  bytes: Uint8Array;
}

export interface LaneKeys {
  /** The one that seals. */
  sealing: LaneKey;
  /** Those that open, the sealing one among them. */
  all: readonly LaneKey[];
}

/** A sealed value that cannot be opened. Holds nothing of its content. */
export class SealProblem extends Error {
  readonly code: 'unknown_key' | 'broken';

  constructor(code: SealProblem['code'], message: string) {
    super(message);
    this.name = 'SealProblem';
    this.code = code;
  }
}

const VERSION = 1;
/** Before a sealed value in base64. No JSON text and no frame of a stream begins so. */
const MARK = '!';
export const LANE_KEY_BYTES = 32;
export const SALT_BYTES = 16;
const ID_BYTES = 4;
const COUNTER_BYTES = 6;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SALT_AT = 1 + ID_BYTES;
const COUNTER_AT = SALT_AT + SALT_BYTES;
const CONTENT_AT = COUNTER_AT + COUNTER_BYTES;
const ALGORITHM = 'aes-256-gcm';
/** Sealed and opened between two turns of other requests: a few milliseconds where its memory is new. */
const BYTES_PER_TURN = 1_048_576;
/** A derived key is 32 bytes and costs 10 µs; each start of a process in the last day has one. */
const DERIVED_MAX = 4_096;

/** The id of a key: says which file is meant, and nothing about its bytes that helps to guess them. */
export function laneKeyId(bytes: Uint8Array): string {
  return createHash('sha256').update('docket lane key').update(bytes).digest('hex').slice(0, 8);
}

/** Seals and opens for one process. */
export class Seals {
  readonly #keys: () => LaneKeys;
  readonly #salt: Uint8Array;
  readonly #derived = new Map<string, KeyObject>();
  /** What seals at present: its key, and the beginning of what it seals. */
  #sealing: { id: string; derived: KeyObject; head: Buffer } | undefined;
  #counter = 0;

  /**
   * @param keys the keys as they are now
   * @param salt 16 random bytes that no other `Seals` has or had
   */
  constructor(keys: () => LaneKeys, salt: Uint8Array) {
    this.#keys = keys;
    this.#salt = salt;
  }

  /** Seals for a place. */
  sealBytes(content: string | Uint8Array, place: string): Buffer {
    const { head, cipher } = this.#begin(place);
    const encrypted =
      typeof content === 'string' ? cipher.update(content, 'utf8') : cipher.update(content);
    cipher.final();
    return Buffer.concat([head, encrypted, cipher.getAuthTag()]);
  }

  /** The same in turns, for what is so large that other requests would notice. */
  async sealBytesInTurns(content: Uint8Array, place: string): Promise<Buffer> {
    const { head, cipher } = this.#begin(place);
    const sealed = Buffer.allocUnsafeSlow(CONTENT_AT + content.length + TAG_BYTES);
    sealed.set(head);
    for (let at = 0; at < content.length; at += BYTES_PER_TURN) {
      if (at > 0) await nextTurn();
      sealed.set(cipher.update(content.subarray(at, at + BYTES_PER_TURN)), CONTENT_AT + at);
    }
    cipher.final();
    sealed.set(cipher.getAuthTag(), sealed.length - TAG_BYTES);
    return sealed;
  }

  /**
   * Opens what was sealed for this place. What is not sealed was written by a release that did not seal, and is given
   * back as it is: it begins with `{`, white space or the magic of its compression.
   * @throws SealProblem
   */
  openBytes(sealed: Buffer, place: string): Buffer {
    if (sealed[0] !== VERSION) return sealed;
    const decipher = this.#beginToOpen(sealed, place);
    const content = decipher.update(sealed.subarray(CONTENT_AT, -TAG_BYTES));
    endOpening(decipher);
    return content;
  }

  /** The same in turns, for what is so large that other requests would notice. @throws SealProblem */
  async openBytesInTurns(sealed: Buffer, place: string): Promise<Buffer> {
    if (sealed.length <= BYTES_PER_TURN || sealed[0] !== VERSION) {
      return this.openBytes(sealed, place);
    }
    const decipher = this.#beginToOpen(sealed, place);
    const content = Buffer.allocUnsafeSlow(sealed.length - CONTENT_AT - TAG_BYTES);
    for (let at = 0; at < content.length; at += BYTES_PER_TURN) {
      if (at > 0) await nextTurn();
      const end = Math.min(at + BYTES_PER_TURN, content.length);
      content.set(decipher.update(sealed.subarray(CONTENT_AT + at, CONTENT_AT + end)), at);
    }
    endOpening(decipher);
    return content;
  }

  /** The same for text (or its UTF-8) that travels in a line of text. */
  seal(text: string | Uint8Array, place: string): string {
    return MARK + this.sealBytes(text, place).toString('base64');
  }

  /** @throws SealProblem */
  open(text: string, place: string): string {
    if (!text.startsWith(MARK)) return text;
    const sealed = Buffer.from(text.slice(MARK.length), 'base64');
    if (sealed[0] !== VERSION) throw broken();
    return this.openBytes(sealed, place).toString();
  }

  /** What a sealed value for this place begins with, and what encrypts the rest of it. */
  #begin(place: string) {
    const sealing = this.#sealingNow();
    this.#counter += 1;
    // A copy, because what is sealed in slices outlives the turn.
    const head = Buffer.from(sealing.head);
    head.writeUIntBE(this.#counter, COUNTER_AT, COUNTER_BYTES);
    const cipher = createCipheriv(ALGORITHM, sealing.derived, nonceOf(head));
    cipher.setAAD(Buffer.from(place));
    return { head, cipher };
  }

  #beginToOpen(sealed: Buffer, place: string): DecipherGCM {
    if (sealed.length < CONTENT_AT + TAG_BYTES) throw broken();
    const id = sealed.toString('hex', 1, SALT_AT);
    const key = this.#keys().all.find((candidate) => candidate.id === id);
    if (key === undefined) {
      throw new SealProblem('unknown_key', `The lane key ${id} is not in LANE_KEYS_DIR.`);
    }
    const derived = this.#derive(key, sealed.subarray(SALT_AT, COUNTER_AT));
    const decipher = createDecipheriv(ALGORITHM, derived, nonceOf(sealed));
    decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    return decipher;
  }

  #sealingNow(): { derived: KeyObject; head: Buffer } {
    const { sealing } = this.#keys();
    if (this.#sealing?.id !== sealing.id) {
      const head = Buffer.alloc(CONTENT_AT);
      head[0] = VERSION;
      head.write(sealing.id, 1, 'hex');
      head.set(this.#salt, SALT_AT);
      const derived = this.#derive(sealing, head.subarray(SALT_AT, COUNTER_AT));
      this.#sealing = { id: sealing.id, derived, head };
    }
    return this.#sealing;
  }

  #derive({ id, bytes }: LaneKey, salt: Buffer): KeyObject {
    const name = id + salt.toString('latin1');
    const known = this.#derived.get(name);
    if (known !== undefined) return known;
    if (this.#derived.size >= DERIVED_MAX) this.#derived.clear();
    const derived = createSecretKey(
      new Uint8Array(hkdfSync('sha256', bytes, salt, 'docket lane seal 1', LANE_KEY_BYTES)),
    );
    this.#derived.set(name, derived);
    return derived;
  }
}

/** Used again by each call: a cipher copies it when it is made. */
const nonce = Buffer.alloc(NONCE_BYTES);

function nonceOf(sealed: Buffer): Buffer {
  sealed.copy(nonce, NONCE_BYTES - COUNTER_BYTES, COUNTER_AT, CONTENT_AT);
  return nonce;
}

/** @throws SealProblem when what was opened is not what was sealed */
function endOpening(decipher: DecipherGCM): void {
  try {
    decipher.final();
  } catch {
    throw broken();
  }
}

function broken(): SealProblem {
  return new SealProblem(
    'broken',
    'A sealed value was changed, or is not where it was sealed for.',
  );
}
