import { renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { activeKey, createKey, keyPath, type KeyPurpose, loadSigningKeys } from './key-files.ts';
import { SigningKeyProblem } from '../problem.ts';
import { writeExclusively } from '#shared/kernel/files/write-exclusively.ts';
import { publicKeyFromRaw } from '#shared/kernel/primitives/node.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';

/** Longer than anyone should keep a did.json: verifiers then know a key before they meet its first signature. */
export const PUBLISHED_BEFORE_USE_MS = 10 * MINUTE_MS;

export interface Rotation {
  /** published: the next key is in did.json now · activated: it signs from now on. */
  step: 'published' | 'activated';
  /** The key that was published, or now signs. */
  thumbprint: string;
  /** The key that signed until now. */
  retired?: string;
}

export interface RotationOptions {
  /** How long a next key is published before it signs. */
  publishedBeforeUseMs?: number;
  /** 32 bytes: the next key, which an agent holds. Without it one is made here. */
  publicKey?: Uint8Array | undefined;
}

/**
 * One step of a rotation: publishes a next key, or puts the published one to use and retires the other. Only the
 * retired key's public half stays. Safe to repeat, and after a crash at any point.
 * @throws SigningKeyProblem `another_key` where another is the next one already, and `published_too_recently` until the next key was published for `publishedBeforeUseMs`.
 */
export function rotateSigningKey(
  dir: string,
  purpose: KeyPurpose,
  nowMs: number,
  { publishedBeforeUseMs = PUBLISHED_BEFORE_USE_MS, publicKey }: RotationOptions = {},
): Rotation {
  const next = loadSigningKeys(dir).find((key) => key.purpose === purpose && key.state === 'next');
  if (next === undefined) {
    if (publicKey === undefined) createKey(dir, purpose, 'next');
    else writeExclusively(keyPath(dir, purpose, 'next'), publicPem(publicKey));
    const made = loadSigningKeys(dir).find(
      (key) => key.purpose === purpose && key.state === 'next',
    );
    if (made === undefined) throw rotatedMeanwhile();
    return { step: 'published', thumbprint: made.thumbprint };
  }
  if (publicKey !== undefined && Buffer.compare(publicKey, next.publicKey) !== 0) {
    throw new SigningKeyProblem(
      'another_key',
      `The next key for ${purpose} is ${next.thumbprint} already. Put that one to use first, without a public key.`,
    );
  }
  const path = keyPath(dir, purpose, 'next');
  const publishedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
  if (nowMs - publishedAt < publishedBeforeUseMs) {
    const at = new Date(publishedAt + publishedBeforeUseMs).toISOString();
    throw new SigningKeyProblem(
      'published_too_recently',
      `The next key for ${purpose} may be used from ${at}, when verifiers have had time to see it.`,
    );
  }
  const old = activeKey(loadSigningKeys(dir), purpose);
  keepPublicHalf(join(dir, purpose, 'retired', `${old.thumbprint}.pem`), old.publicKey, nowMs);
  try {
    renameSync(path, keyPath(dir, purpose, 'active'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw rotatedMeanwhile();
    throw error;
  }
  return { step: 'activated', thumbprint: next.thumbprint, retired: old.thumbprint };
}

/**
 * Stops vouching for a retired key: did.json then says so. One that still signs must be rotated out first.
 * @throws SigningKeyProblem `unknown_key` when it is not among the retired ones.
 */
export function revokeSigningKey(
  dir: string,
  purpose: KeyPurpose,
  thumbprint: string,
  nowMs: number,
): void {
  const key = loadSigningKeys(dir).find(
    (candidate) => candidate.purpose === purpose && candidate.thumbprint === thumbprint,
  );
  if (key?.state === 'revoked') return;
  if (key?.state !== 'retired') {
    throw new SigningKeyProblem(
      'unknown_key',
      `${thumbprint} is not a retired key for ${purpose}. A key in use must be rotated out before it is revoked.`,
    );
  }
  keepPublicHalf(join(dir, purpose, 'revoked', `${thumbprint}.pem`), key.publicKey, nowMs);
}

/** A line above the PEM says since when; readers of PEM skip it. The first to write it is right about the time. */
function keepPublicHalf(path: string, publicKey: Uint8Array, nowMs: number): void {
  writeExclusively(path, `since ${new Date(nowMs).toISOString()}\n${publicPem(publicKey)}`);
}

function publicPem(publicKey: Uint8Array): string {
  return publicKeyFromRaw(publicKey).export({ type: 'spki', format: 'pem' });
}

function rotatedMeanwhile(): SigningKeyProblem {
  return new SigningKeyProblem(
    'rotated_meanwhile',
    'Somebody else rotated this key at the same moment. Look at the result before going on.',
  );
}
