/**
 * What `node.ts` beside it does, where there is no Node: browsers and their workers. Digests are computed here, because
 * WebCrypto's come later and everything that hashes would have to wait; signatures are WebCrypto's.
 */
import type { TextForm } from './node.ts';
import { digestSha256, RunningSha256 } from './sha256.ts';
import { signatureHolds } from './signature-checks.ts';

export { mlDsa44Holds } from './signature-checks.ts';

const encoder = new TextEncoder();

export function sha256(data: Uint8Array | string): Uint8Array {
  return digestSha256(typeof data === 'string' ? encoder.encode(data) : data);
}

export function sha256Text(data: Uint8Array | string, form: 'hex' | 'base64url'): string {
  return encodeBytes(sha256(data), form);
}

export function startSha256(): RunningSha256 {
  return new RunningSha256();
}

/** By a message: timers wait four milliseconds, and a second where the page is not in sight. */
export function afterOthers(go: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener('message', () => {
    port1.close();
    go();
  });
  port1.start();
  port2.postMessage(null);
}

export function decodeBytes(text: string, form: TextForm): Uint8Array {
  if (form === 'hex') {
    const digits = /^(?:[0-9a-f]{2})*/i.exec(text)?.[0] ?? '';
    return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  }
  const [digits = ''] = text.split('=', 1);
  const known = digits
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll(/[^A-Za-z0-9+/]/g, '');
  // Six bits alone make no byte.
  const whole = known.length % 4 === 1 ? known.slice(0, -1) : known;
  return Uint8Array.from(atob(whole), (character) => character.charCodeAt(0));
}

export function encodeBytes(bytes: Uint8Array, form: TextForm): string {
  if (form === 'hex')
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const base64 = btoa(binary);
  if (form === 'base64') return base64;
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}

/** Reflected polynomial 0xEDB88320. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 0xff]!;
  return ~crc >>> 0;
}

export function ed25519Verifier(
  rawKey: Uint8Array,
): (data: Uint8Array, signature: Uint8Array) => boolean {
  return (data, signature) => signatureHolds(rawKey, data, signature);
}
