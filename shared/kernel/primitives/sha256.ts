/** SHA-256 (FIPS 180-4). */

/** The first 32 bits of the fractional parts of the cube roots (64 primes) and square roots (8) of primes. */
const [ROUND, START] = constants();

function constants(): [Uint32Array, Uint32Array] {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n += 1) {
    if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  }
  const fraction = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32);
  return [
    Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
    Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
  ];
}

const BLOCK = 64;
const words = new Int32Array(BLOCK);
const state = new Int32Array(8);
/** The end of a message, with its padding and length: one block, or two. */
const tail = new Uint8Array(2 * BLOCK);

export function digestSha256(bytes: Uint8Array): Uint8Array {
  state.set(START);
  const whole = compressBlocks(bytes, 0);
  return finished(bytes.subarray(whole), bytes.length);
}

/** SHA-256 of bytes as they come. */
export class RunningSha256 {
  readonly #state = Int32Array.from(START);
  readonly #held = new Uint8Array(BLOCK);
  #heldBytes = 0;
  #bytes = 0;

  update(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    const filling = Math.min(this.#heldBytes === 0 ? 0 : BLOCK - this.#heldBytes, bytes.length);
    this.#hold(bytes.subarray(0, filling));
    if (this.#heldBytes > 0 && this.#heldBytes < BLOCK) return;
    state.set(this.#state);
    if (this.#heldBytes === BLOCK) compress(this.#held, 0);
    this.#heldBytes = 0;
    const whole = compressBlocks(bytes, filling);
    this.#state.set(state);
    this.#hold(bytes.subarray(whole));
  }

  /** Of all until now and these bytes after it, which are not kept. */
  digestWith(end: Uint8Array): Uint8Array {
    const rest = new Uint8Array(this.#heldBytes + end.length);
    rest.set(this.#held.subarray(0, this.#heldBytes));
    rest.set(end, this.#heldBytes);
    state.set(this.#state);
    const whole = compressBlocks(rest, 0);
    return finished(rest.subarray(whole), this.#bytes + end.length);
  }

  #hold(bytes: Uint8Array): void {
    this.#held.set(bytes, this.#heldBytes);
    this.#heldBytes += bytes.length;
  }
}

/** @returns where the last, unfinished block begins */
function compressBlocks(bytes: Uint8Array, from: number): number {
  let at = from;
  for (; at + BLOCK <= bytes.length; at += BLOCK) compress(bytes, at);
  return at;
}

/** @param rest what comes after the last whole block, of a message of so many bytes */
function finished(rest: Uint8Array, bytes: number): Uint8Array {
  tail.fill(0);
  tail.set(rest);
  tail[rest.length] = 0x80;
  // The length takes eight bytes.
  const length = rest.length + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
  const view = new DataView(tail.buffer);
  view.setUint32(length - 8, Math.floor(bytes / 2 ** 29));
  view.setUint32(length - 4, (bytes * 8) >>> 0);
  for (let at = 0; at < length; at += BLOCK) compress(tail, at);
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  state.forEach((word, i) => out.setInt32(i * 4, word));
  return digest;
}

function compress(bytes: Uint8Array, at: number): void {
  for (let i = 0; i < 16; i += 1) {
    const from = at + i * 4;
    words[i] =
      (bytes[from]! << 24) | (bytes[from + 1]! << 16) | (bytes[from + 2]! << 8) | bytes[from + 3]!;
  }
  for (let i = 16; i < 64; i += 1) {
    const early = words[i - 15]!;
    const late = words[i - 2]!;
    const small0 = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const small1 = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    words[i] = (words[i - 16]! + small0 + words[i - 7]! + small1) | 0;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i += 1) {
    const large1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + large1 + choice + ROUND[i]! + words[i]!) | 0;
    const large0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + large0 + majority) | 0;
  }
  state[0] = (state[0]! + a) | 0;
  state[1] = (state[1]! + b) | 0;
  state[2] = (state[2]! + c) | 0;
  state[3] = (state[3]! + d) | 0;
  state[4] = (state[4]! + e) | 0;
  state[5] = (state[5]! + f) | 0;
  state[6] = (state[6]! + g) | 0;
  state[7] = (state[7]! + h) | 0;
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
