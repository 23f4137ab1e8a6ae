import { loadSigningKeys, type SigningKey, signingKeysVersion } from './key-files.ts';

/** A rotation is in force within a second; looking costs a handful of file stats, too much for every receipt. */
const LOOK_MS = 1_000;

/**
 * What is made of the signing keys in `dir`, made anew when they change, without a restart. Keys that cannot be read
 * while a process runs are reported to `onError`, and what was made before stays.
 * @throws SigningKeyProblem at the first call here and now: a process does not start without its keys.
 */
export function currentKeys<T>(
  dir: string,
  make: (keys: readonly SigningKey[]) => T,
  onError: (error: unknown) => void,
  monotonicNow: () => number = () => performance.now(),
): () => T {
  let version = signingKeysVersion(dir);
  let made = make(loadSigningKeys(dir));
  let lookedAt = monotonicNow();
  return () => {
    if (monotonicNow() - lookedAt < LOOK_MS) return made;
    lookedAt = monotonicNow();
    try {
      const current = signingKeysVersion(dir);
      if (current !== version) {
        made = make(loadSigningKeys(dir));
        version = current;
      }
    } catch (error) {
      onError(error);
    }
    return made;
  };
}
