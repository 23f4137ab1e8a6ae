import {
  type CipherGCMTypes,
  createCipheriv,
  createDecipheriv,
  createHash,
  type DecipherGCM,
  hkdfSync,
} from 'node:crypto';
import { libsodium } from '#shared/kernel/primitives/libsodium.ts';
import { nextTurn } from '#shared/kernel/turns.ts';

/**
 * Prompts and answers never rest in clear: what travels through Redis or waits in PostgreSQL is sealed with
 * ChaCha20-Poly1305 (RFC 8439). A sealed value opens only in the place that it was sealed for, which is part of what is
 * authenticated, so that one cannot be put where another belongs.
 *
 * Layout: form (1), id of the key (4), salt (16), counter (6), ciphertext, tag (16). The key that encrypts is derived
 * from the lane key and the salt (HKDF-SHA256). Each start of a process has a random salt of its own, so its counter is
 * all that a nonce needs: with random nonces one key would be worn out after 2^32 messages, which is days here.
 *
 * What is small, which is nearly all, is sealed and opened by libsodium, into memory that is there already. OpenSSL makes
 * an object and five buffers outside V8's heap for each value, and to collect those cost four times what the cipher did;
 * it takes what is large, in slices, and everything where libsodium cannot be loaded.
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

/** The first byte of a sealed value: another way of sealing has another one. */
const FORM = 1;
/** What keys are derived for. */
const INFO = 'docket lane seal 1';
/** The name in OpenSSL. Types of Node tell this and GCM apart; it uses both in the same way. */
const CIPHER = 'chacha20-poly1305' as CipherGCMTypes;

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
/** Sealed and opened between two turns of other requests: a few milliseconds where its memory is new. */
const BYTES_PER_TURN = 1_048_576;
/** Of bytes, and of the most that a text may become in UTF-8. What is larger gets memory of its own. */
const SMALL_BYTES = 65_536;
/** A derived key is 32 bytes and costs 10 µs; each start of a process in the last day has one. */
const DERIVED_MAX = 4_096;

/** Where small values are sealed and opened. What one call leaves there is taken out before the next one. */
const clear = Buffer.alloc(SMALL_BYTES);
const sealedSmall = Buffer.alloc(CONTENT_AT + SMALL_BYTES + TAG_BYTES);
const placeBytes = Buffer.alloc(SMALL_BYTES);
const nonce = Buffer.alloc(NONCE_BYTES);

/** The id of a key: says which file is meant, and nothing about its bytes that helps to guess them. */
export function laneKeyId(bytes: Uint8Array): string {
  return createHash('sha256').update('docket lane key').update(bytes).digest('hex').slice(0, 8);
}

/** Seals and opens for one process. */
export class Seals {
  readonly #keys: () => LaneKeys;
  readonly #salt: Uint8Array;
  readonly #sodium: typeof libsodium;
  readonly #derived = new Map<string, Buffer>();
  /** What seals at present: its key, and the beginning of what it seals. */
  #sealing: { id: string; derived: Buffer; head: Buffer } | undefined;
  #counter = 0;

  /**
   * @param keys the keys as they are now
   * @param salt 16 random bytes that no other `Seals` has or had
   * @param sodium what seals and opens what is small; null where it cannot be loaded
   */
  constructor(keys: () => LaneKeys, salt: Uint8Array, sodium: typeof libsodium = libsodium) {
    this.#keys = keys;
    this.#salt = salt;
    this.#sodium = sodium;
  }

  /** Seals for a place. */
  sealBytes(content: string | Uint8Array, place: string): Buffer {
    const end = this.#sealSmall(content, place);
    if (end !== undefined) return Buffer.from(sealedSmall.subarray(0, end));
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

  /** Opens what was sealed for this place. @throws SealProblem */
  openBytes(sealed: Buffer, place: string): Buffer {
    const derived = this.#keyOf(sealed, this.#keys());
    const length = this.#openSmall(derived, sealed, place);
    if (length !== undefined) return Buffer.from(clear.subarray(0, length));
    return openByOpenSsl(derived, sealed, place);
  }

  /** The same in turns, for what is so large that other requests would notice. @throws SealProblem */
  async openBytesInTurns(sealed: Buffer, place: string): Promise<Buffer> {
    if (sealed.length <= BYTES_PER_TURN) return this.openBytes(sealed, place);
    const decipher = beginToOpen(this.#keyOf(sealed, this.#keys()), sealed, place);
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
    const end = this.#sealSmall(text, place);
    if (end !== undefined) return MARK + sealedSmall.toString('base64', 0, end);
    return MARK + this.sealBytes(text, place).toString('base64');
  }

  /** @throws SealProblem */
  open(text: string, place: string): string {
    if (!text.startsWith(MARK)) throw broken();
    // Keys first: looking them up may seal something.
    const keys = this.#keys();
    const base64 = text.slice(MARK.length);
    const isSmall = (base64.length * 3) / 4 <= sealedSmall.length;
    const sealed = isSmall
      ? sealedSmall.subarray(0, sealedSmall.write(base64, 'base64'))
      : Buffer.from(base64, 'base64');
    const derived = this.#keyOf(sealed, keys);
    const length = this.#openSmall(derived, sealed, place);
    if (length !== undefined) return clear.toString('utf8', 0, length);
    return openByOpenSsl(derived, sealed, place).toString();
  }

  /** Seals into `sealedSmall`, and returns where it ends; undefined for what OpenSSL is to seal. */
  #sealSmall(content: string | Uint8Array, place: string): number | undefined {
    const bytesMax = typeof content === 'string' ? 3 * content.length : content.length;
    const sodium = this.#sodium;
    if (sodium === null || bytesMax > SMALL_BYTES || 3 * place.length > SMALL_BYTES) {
      return undefined;
    }
    const { derived, head } = this.#sealingNow();
    this.#counter += 1;
    head.copy(sealedSmall);
    sealedSmall.writeUIntBE(this.#counter, COUNTER_AT, COUNTER_BYTES);
    let length = content.length;
    if (typeof content === 'string') length = clear.write(content);
    else clear.set(content);
    const end = CONTENT_AT + length + TAG_BYTES;
    sodium.crypto_aead_chacha20poly1305_ietf_encrypt(
      sealedSmall.subarray(CONTENT_AT, end),
      clear.subarray(0, length),
      placeBytes.subarray(0, placeBytes.write(place)),
      null,
      nonceOf(sealedSmall),
      derived,
    );
    return end;
  }

  /**
   * Opens into `clear`, and returns how much is there; undefined for what OpenSSL is to open.
   * @throws SealProblem
   */
  #openSmall(derived: Buffer, sealed: Buffer, place: string): number | undefined {
    const sodium = this.#sodium;
    const length = sealed.length - CONTENT_AT - TAG_BYTES;
    if (sodium === null || length > SMALL_BYTES || 3 * place.length > SMALL_BYTES) return undefined;
    try {
      sodium.crypto_aead_chacha20poly1305_ietf_decrypt(
        clear.subarray(0, length),
        null,
        sealed.subarray(CONTENT_AT),
        placeBytes.subarray(0, placeBytes.write(place)),
        nonceOf(sealed),
        derived,
      );
    } catch {
      throw broken();
    }
    return length;
  }

  /** What a sealed value for this place begins with, and what encrypts the rest of it. */
  #begin(place: string) {
    const sealing = this.#sealingNow();
    this.#counter += 1;
    // A copy, because what is sealed in slices outlives the turn.
    const head = Buffer.from(sealing.head);
    head.writeUIntBE(this.#counter, COUNTER_AT, COUNTER_BYTES);
    const cipher = createCipheriv(CIPHER, sealing.derived, nonceOf(head), {
      authTagLength: TAG_BYTES,
    });
    cipher.setAAD(Buffer.from(place));
    return { head, cipher };
  }

  /** The derived key that a value opens with. @throws SealProblem */
  #keyOf(sealed: Buffer, { all }: LaneKeys): Buffer {
    if (sealed[0] !== FORM || sealed.length < CONTENT_AT + TAG_BYTES) throw broken();
    const id = sealed.toString('hex', 1, SALT_AT);
    const key = all.find((candidate) => candidate.id === id);
    if (key === undefined) {
      throw new SealProblem('unknown_key', `The lane key ${id} is not in LANE_KEYS_DIR.`);
    }
    return this.#derive(key, sealed.subarray(SALT_AT, COUNTER_AT));
  }

  #sealingNow(): { derived: Buffer; head: Buffer } {
    const { sealing } = this.#keys();
    if (this.#sealing?.id !== sealing.id) {
      const head = Buffer.alloc(CONTENT_AT);
      head[0] = FORM;
      head.write(sealing.id, 1, 'hex');
      head.set(this.#salt, SALT_AT);
      const derived = this.#derive(sealing, head.subarray(SALT_AT, COUNTER_AT));
      this.#sealing = { id: sealing.id, derived, head };
    }
    return this.#sealing;
  }

  #derive({ id, bytes }: LaneKey, salt: Buffer): Buffer {
    const name = `${id}${salt.toString('latin1')}`;
    const known = this.#derived.get(name);
    if (known !== undefined) return known;
    if (this.#derived.size >= DERIVED_MAX) this.#derived.clear();
    const derived = Buffer.from(hkdfSync('sha256', bytes, salt, INFO, LANE_KEY_BYTES));
    this.#derived.set(name, derived);
    return derived;
  }
}

/** @throws SealProblem */
function openByOpenSsl(derived: Buffer, sealed: Buffer, place: string): Buffer {
  const decipher = beginToOpen(derived, sealed, place);
  const content = decipher.update(sealed.subarray(CONTENT_AT, -TAG_BYTES));
  endOpening(decipher);
  return content;
}

function beginToOpen(derived: Buffer, sealed: Buffer, place: string): DecipherGCM {
  const decipher = createDecipheriv(CIPHER, derived, nonceOf(sealed), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return decipher;
}

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
