/**
 * Signatures where only WebCrypto checks them, which answers later. The verifier goes on as if each held, is told
 * nothing before all answers are there, and begins again when one did not hold: what is judged twice is bad anyway, and
 * judging is written once, without waiting, for Node and for browsers.
 */

/** Signatures that do not hold, by key, signature and data. */
const refused = new Set<string>();
const underWay = new Set<Promise<void>>();

const ED25519_KEY_BYTES = 32;
/** Keys of one verification are few. */
const imported = new Map<string, Promise<CryptoKey>>();
const KEYS_MAX = 1_024;

/** As far as is known until now. */
export function signatureHolds(
  rawKey: Uint8Array,
  data: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (refused.size > 0 && refused.has(nameOf(rawKey, signature, data))) return false;
  const checked = check(rawKey.slice(), data.slice(), signature.slice());
  underWay.add(checked);
  void checked.finally(() => underWay.delete(checked));
  return true;
}

/** Known once a key was asked for. */
let lacksMlDsa44 = false;

/** The same of an ML-DSA-44 key; null in a browser that has no such keys. */
export function mlDsa44Holds(
  rawKey: Uint8Array,
  data: Uint8Array,
  signature: Uint8Array,
): boolean | null {
  return lacksMlDsa44 ? null : signatureHolds(rawKey, data, signature);
}

/** Thrown when going on is of no use: a signature did not hold. */
class SignatureRefused extends Error {}

/**
 * Waits until every signature so far is checked.
 * @param known how many were refused when the judging began: a check may end, and not hold, before this is called
 * @throws SignatureRefused when one does not hold
 */
export async function settleSignatures(known = refused.size): Promise<void> {
  await Promise.all(underWay);
  if (refused.size > known) throw new SignatureRefused();
}

/** What `judge` gives or throws once all signatures that it rests on are known. */
export async function withSignatures<T>(judge: () => T | Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await settled(judge);
    } catch (error) {
      if (!(error instanceof SignatureRefused)) throw error;
    }
  }
}

async function settled<T>(judge: () => T | Promise<T>): Promise<T> {
  // Of all that are judged at once: begun again once too often is better than once too seldom.
  const known = refused.size;
  let outcome: () => T;
  try {
    const value = await judge();
    outcome = () => value;
  } catch (error) {
    outcome = () => {
      throw error;
    };
  }
  await settleSignatures(known);
  return outcome();
}

async function check(
  rawKey: Uint8Array<ArrayBuffer>,
  data: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const key = await publicKey(rawKey);
  // A check that was not possible is refused too, so that the judging begins again and counts it as none.
  if (key === null && algorithmOf(rawKey) !== 'Ed25519') lacksMlDsa44 = true;
  const holds =
    key !== null &&
    (await crypto.subtle.verify(algorithmOf(rawKey), key, signature, data).catch(() => false));
  if (!holds) refused.add(nameOf(rawKey, signature, data));
}

/** Null for bytes that are no key. */
async function publicKey(rawKey: Uint8Array<ArrayBuffer>): Promise<CryptoKey | null> {
  const name = nameOf(rawKey);
  let key = imported.get(name);
  if (key === undefined) {
    if (imported.size >= KEYS_MAX) imported.clear();
    const algorithm = algorithmOf(rawKey);
    // WebCrypto's modern algorithms have a name of their own for the same, which types of TypeScript lack.
    const form = (algorithm === 'Ed25519' ? 'raw' : 'raw-public') as 'raw';
    key = crypto.subtle.importKey(form, rawKey, algorithm, false, ['verify']);
    imported.set(name, key);
  }
  return key.catch(() => null);
}

function algorithmOf(rawKey: Uint8Array): 'Ed25519' | 'ML-DSA-44' {
  return rawKey.length === ED25519_KEY_BYTES ? 'Ed25519' : 'ML-DSA-44';
}

function nameOf(...parts: readonly Uint8Array[]): string {
  return parts.map((bytes) => String.fromCharCode(...bytes)).join('\n');
}

/** Can signatures be checked here at all? Pages that did not come over HTTPS have no WebCrypto, and old browsers no Ed25519. */
export async function canCheckSignatures(): Promise<boolean> {
  const subtle = (globalThis as { crypto?: Partial<Crypto> }).crypto?.subtle;
  if (subtle === undefined) return false;
  // The key of RFC 8032, 7.1, test 1.
  const key = Uint8Array.from(
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'.match(/../g)!,
    (pair) => Number.parseInt(pair, 16),
  );
  return subtle.importKey('raw', key, 'Ed25519', false, ['verify']).then(
    () => true,
    () => false,
  );
}
