import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { slidingCrc32 } from './sliding-crc32.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'dkt_';
/** 62^32 is about 2^190: too many to guess one, or to draw one twice. */
const SECRET_LENGTH = 32;
/** 62^6 exceeds 2^32, so six characters always hold the CRC. */
const CHECKSUM_LENGTH = 6;
const BODY_LENGTH = PREFIX.length + SECRET_LENGTH;

/** Every key has exactly this many characters. */
export const KEY_LENGTH = BODY_LENGTH + CHECKSUM_LENGTH;

/** How the service can speak of a key without holding it: the first 8 and the last 4 characters. */
export interface KeyDisplay {
  head: string;
  tail: string;
}

/**
 * A fresh API key. `randomBytes(size)` must be a cryptographic source.
 * Bytes of 248 and above are discarded: 248 = 4 × 62, so every character is equally likely.
 */
export function generateKey(randomBytes: (size: number) => Uint8Array): string {
  let body = PREFIX;
  while (body.length < BODY_LENGTH) {
    for (const byte of randomBytes(SECRET_LENGTH)) {
      if (byte < 248 && body.length < BODY_LENGTH) body += ALPHABET.charAt(byte % 62);
    }
  }
  return body + checksum(body);
}

/** True when `text` has the shape of a key and its checksum is right. Says nothing about whether the key exists. */
export function isWellFormedKey(text: string): boolean {
  if (text.length !== KEY_LENGTH || !text.startsWith(PREFIX)) return false;
  for (let i = PREFIX.length; i < KEY_LENGTH; i += 1) {
    if (digitOf(text.charCodeAt(i)) === undefined) return false;
  }
  return checksum(text.slice(0, BODY_LENGTH)) === text.slice(BODY_LENGTH);
}

/** Whether a key stands in what was typed, right or mistyped. */
export function holdsWholeKey(typed: string): boolean {
  return WHOLE_KEY.test(typed) || scatteredKeys(typed).length > 0;
}

const SECRET_CHARS = SECRET_LENGTH + CHECKSUM_LENGTH;
const WHOLE_KEY = new RegExp(`${PREFIX}\\w{${SECRET_CHARS}}`);
/** A key or a part of one, mistyped or not; characters that show nothing may stand in it. */
const STARTED_KEY = /(d\p{Cf}*k\p{Cf}*t\p{Cf}*_(?:\p{Cf}*\w){4})(?:\p{Cf}*\w)+/giu;
/** So much of a secret is shown anyway. */
const SHOWN_CHARS = 4;

/** What was typed, with no more of a key than its first characters, which are shown of it anyway. */
export function withoutKeys(typed: string): string {
  let text = '';
  let at = 0;
  for (const [from, to] of scatteredKeys(typed)) {
    text += typed.slice(at, from);
    at = to;
  }
  return (text + typed.slice(at)).replaceAll(STARTED_KEY, '$1');
}

const crcsOfBodies = slidingCrc32(PREFIX, SECRET_LENGTH);

/**
 * From where to where the secrets of keys stand in a text, but for their first characters: by their checksum, which no other
 * text has, so that a key without its prefix is found, and one with spaces or anything else between its characters. The text
 * may be a stranger's and long: each of its characters is looked at a few times, however many begin what could be a key.
 */
function scatteredKeys(text: string): [from: number, to: number][] {
  const found: [number, number][] = [];
  const places: number[] = [];
  const digits: number[] = [];
  for (let i = 0; i < text.length; i += 1) {
    const digit = digitOf(text.charCodeAt(i));
    if (digit === undefined) continue;
    places.push(i);
    digits.push(digit);
  }
  if (digits.length < SECRET_CHARS) return found;
  const crcs = crcsOfBodies(text.replaceAll(/[^0-9A-Za-z]+/g, ''));
  for (let at = 0; at + SECRET_CHARS <= digits.length; at += 1) {
    let checksumThere = 0;
    for (let i = SECRET_LENGTH; i < SECRET_CHARS; i += 1)
      checksumThere = checksumThere * 62 + digits[at + i]!;
    if (checksumThere !== crcs[at]) continue;
    found.push([places[at + SHOWN_CHARS]!, places[at + SECRET_CHARS - 1]! + 1]);
    at += SECRET_CHARS - 1;
  }
  return found;
}

/** The only form in which a key is stored or compared: SHA-256 of its text, as 64 hex digits. */
export function hashKey(key: string): string {
  return hash('sha256', key);
}

/** The characters that may be shown of a key after its issue. */
export function displayOf(key: string): KeyDisplay {
  return { head: key.slice(0, 8), tail: key.slice(-4) };
}

function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    text = ALPHABET.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** The place of a character in the alphabet; undefined where it has none. */
function digitOf(code: number): number | undefined {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 65 && code <= 90) return code - 55;
  return code >= 97 && code <= 122 ? code - 61 : undefined;
}

/** The hash of a key that is reported as leaked: of the key itself, or given as hex SHA-256. Null when it is neither. */
export function hashOfReport(text: string): string | null {
  const line = text.trim();
  if (isWellFormedKey(line)) return hashKey(line);
  return /^[0-9a-f]{64}$/i.test(line) ? line.toLowerCase() : null;
}
