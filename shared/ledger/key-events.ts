import { sha256Text, encodeBytes } from '#primitives';
import { decodeBase58, encodeBase58 } from '#shared/kernel/base58.ts';
import { isTimeText } from '#shared/kernel/time.ts';
import { MalformedLedgerText } from './notes.ts';

/** The purposes of keys: one for each, so that one that leaks cannot vouch for another. */
export const KEY_PURPOSES = ['receipts', 'checkpoints', 'anchor', 'packs'] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];

interface KeyEventOf<E extends string> {
  type: 'key';
  event: E;
  /** `2026-11-20T09:38:04.123Z` */
  at: string;
  /** The key's id, `did:web:…#<RFC 7638 thumbprint>`. */
  key: string;
  purpose: KeyPurpose;
}

/** From here on the key may sign. */
interface KeyAdded extends KeyEventOf<'added'> {
  publicKeyMultibase: string;
}

/** All that the key has signed is anchored before this entry. */
type KeyRetired = KeyEventOf<'retired'>;

/** What was anchored at index `from` of the anchor log or later is not vouched for. */
interface KeyCompromised extends KeyEventOf<'compromised'> {
  from: number;
}

/** An entry of the anchor log about a signing key. */
export type KeyEvent = KeyAdded | KeyRetired | KeyCompromised;

/** A key event with its place in the anchor log. */
export interface PlacedKeyEvent {
  index: number;
  event: KeyEvent;
}

/** When a key's signatures count, in indexes of the anchor log. */
export interface KeyInterval {
  key: string;
  purpose: KeyPurpose;
  /** 32 bytes, Ed25519. */
  publicKey: Uint8Array;
  addedAt: number;
  retiredAt: number | null;
  /** The smallest that was ever named: a later event can only take back more. */
  compromisedFrom: number | null;
}

/** The first index of the anchor log at which the key's signatures do not count any more; null while they all do. */
export function endOfKey({ retiredAt, compromisedFrom }: KeyInterval): number | null {
  if (retiredAt === null) return compromisedFrom;
  return Math.min(retiredAt, compromisedFrom ?? retiredAt);
}

/** By key id. */
export type KeyIntervals = ReadonlyMap<string, KeyInterval>;

/** Why a key's signature counts or not. */
export type KeyStanding =
  | 'good'
  | 'unknown_key'
  | 'wrong_purpose'
  | 'not_added_yet'
  | 'retired'
  | 'compromised';

const MULTICODEC = [0xed, 0x01] as const;
const PUBLIC_KEY_BYTES = 32;
/** `z` and 34 bytes in base58 take 48 characters. */
const MULTIBASE_MAX = 64;
const KEY_ID = /^(did:web:[!-~]{1,500})#([A-Za-z0-9_-]{43})$/;

/** Reads the fields of a key event from anyone. Throws `MalformedLedgerText`. */
export function parseKeyEvent(fields: Readonly<Record<string, unknown>>): KeyEvent {
  const { at, event, from, key, publicKeyMultibase } = fields;
  const purpose = KEY_PURPOSES.find((known) => known === fields['purpose']);
  if (purpose === undefined || typeof at !== 'string' || !isTimeText(at)) {
    throw malformed('The key event has no purpose or no time.');
  }
  if (typeof key !== 'string' || !KEY_ID.test(key)) throw malformed('The key has no id.');
  const common = { type: 'key', at, key, purpose } as const;
  if (event === 'retired') return { ...common, event };
  if (event === 'compromised') {
    if (!Number.isSafeInteger(from) || (from as number) < 0) {
      throw malformed('A compromise names the index it is from.');
    }
    return { ...common, event, from: from as number };
  }
  if (event !== 'added' || typeof publicKeyMultibase !== 'string') {
    throw malformed('The event is none of added, retired and compromised.');
  }
  decodeMultikey(publicKeyMultibase, key);
  return { ...common, event, publicKeyMultibase };
}

/** Reads a Multikey and checks that the key's id is its thumbprint: an id can then stand for the key. */
function decodeMultikey(multibase: string, key: string): Uint8Array {
  const plausible = multibase.startsWith('z') && multibase.length <= MULTIBASE_MAX;
  const bytes = plausible ? decodeBase58(multibase.slice(1)) : null;
  const [first, second] = MULTICODEC;
  if (bytes?.length !== PUBLIC_KEY_BYTES + 2 || bytes[0] !== first || bytes[1] !== second) {
    throw malformed('The public key is not an Ed25519 Multikey.');
  }
  const publicKey = bytes.subarray(2);
  if (thumbprintOf(publicKey) !== KEY_ID.exec(key)?.[2]) {
    throw malformed('The id of the key is not its thumbprint.');
  }
  return publicKey;
}

/** RFC 7638 for Ed25519. */
function thumbprintOf(publicKey: Uint8Array): string {
  const x = encodeBytes(publicKey, 'base64url');
  return sha256Text(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, 'base64url');
}

/** `publicKeyMultibase` of an Ed25519 key. */
export function multikeyOf(publicKey: Uint8Array): string {
  return `z${encodeBase58(Uint8Array.from([...MULTICODEC, ...publicKey]))}`;
}

/**
 * What all key events together say, in the order of the log. Throws `MalformedLedgerText` when they
 * contradict each other: a key that is added twice, or retired or compromised without having been added.
 */
export function keyIntervals(events: readonly PlacedKeyEvent[]): KeyIntervals {
  const intervals = new Map<string, KeyInterval>();
  let last = -1;
  for (const { index, event } of events) {
    if (index <= last) throw malformed('Key events are not in the order of the log.');
    last = index;
    intervals.set(event.key, applied(intervals.get(event.key), index, event));
  }
  return intervals;
}

function applied(known: KeyInterval | undefined, index: number, event: KeyEvent): KeyInterval {
  if (event.event === 'added') {
    if (known !== undefined) throw malformed(`The key ${event.key} is added twice.`);
    const { key, purpose, publicKeyMultibase } = event;
    const publicKey = decodeMultikey(publicKeyMultibase, key);
    return { key, purpose, publicKey, addedAt: index, retiredAt: null, compromisedFrom: null };
  }
  if (known?.purpose !== event.purpose) {
    throw malformed(`The key ${event.key} was not added for ${event.purpose}.`);
  }
  if (event.event === 'retired') {
    if (known.retiredAt !== null) throw malformed(`The key ${event.key} is retired twice.`);
    return { ...known, retiredAt: index };
  }
  return { ...known, compromisedFrom: Math.min(known.compromisedFrom ?? Infinity, event.from) };
}

/**
 * Whether a key's signature counts for something that was anchored at index `anchoredAt` of the anchor
 * log: for a receipt or a checkpoint of an organisation, the first heads entry whose checkpoint covers
 * it; for a checkpoint of the anchor log, its size less one. Null when it is not anchored (yet): then
 * only a key that still may sign is good, because nothing shows that the signature is older than that.
 */
export function judgeKey(
  interval: KeyInterval | undefined,
  purpose: KeyPurpose,
  anchoredAt: number | null,
): KeyStanding {
  if (interval === undefined) return 'unknown_key';
  if (interval.purpose !== purpose) return 'wrong_purpose';
  const at = anchoredAt ?? Infinity;
  if (interval.compromisedFrom !== null && at >= interval.compromisedFrom) return 'compromised';
  if (interval.retiredAt !== null && at >= interval.retiredAt) return 'retired';
  return at < interval.addedAt ? 'not_added_yet' : 'good';
}

/** A key as its owner knows it. */
export interface KnownKey {
  key: string;
  purpose: KeyPurpose;
  publicKey: Uint8Array;
  /** next: published, not used yet · active: signs · retired: signed once · revoked: not vouched for any more. */
  state: 'next' | 'active' | 'retired' | 'revoked';
  /** Epoch milliseconds at which it was retired or revoked; null when that is not known. */
  since: number | null;
}

/** A key event that is still to be written; time and place come with the writing. */
export type DueKeyEvent =
  | { event: 'added'; key: string; purpose: KeyPurpose; publicKeyMultibase: string }
  | { event: 'retired'; key: string; purpose: KeyPurpose; since: number }
  | { event: 'compromised'; key: string; purpose: KeyPurpose };

/** The events by which the log would say what the owner knows: each key is added, then retired or revoked. */
export function dueKeyEvents(intervals: KeyIntervals, known: readonly KnownKey[]): DueKeyEvent[] {
  return known.flatMap(({ key, purpose, publicKey, state, since }) => {
    const interval = intervals.get(key);
    const due: DueKeyEvent[] = [];
    if (interval === undefined) {
      due.push({ event: 'added', key, purpose, publicKeyMultibase: multikeyOf(publicKey) });
    }
    if (state === 'retired' && (interval?.retiredAt ?? null) === null) {
      due.push({ event: 'retired', key, purpose, since: since ?? 0 });
    }
    if (state === 'revoked' && (interval?.compromisedFrom ?? null) === null) {
      due.push({ event: 'compromised', key, purpose });
    }
    return due;
  });
}

function malformed(message: string): MalformedLedgerText {
  return new MalformedLedgerText('key_event', message);
}
