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
  const rest = bytes.length % BLOCK;
  const whole = bytes.length - rest;
  for (let at = 0; at < whole; at += BLOCK) compress(bytes, at);
  tail.fill(0);
  tail.set(bytes.subarray(whole));
  tail[rest] = 0x80;
  // The length takes eight bytes.
  const length = rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
  const view = new DataView(tail.buffer);
  view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(length - 4, (bytes.length * 8) >>> 0);
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
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] = (state[i]! + word) | 0;
  });
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
