import { randomBytes } from 'node:crypto';
import type { Person } from '#shared/persons/roles.ts';
import type { SecondFactors } from '#shared/persons/postgres/second-factors.ts';
import { appUri, base32, isAppCode, stepOfCode } from './app-code.ts';
import type { Flash } from './flash.ts';
import { createMarks } from './secrets.ts';

/** RFC 4226, 4: as long as the hash. */
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
/** 80 bits, which nothing but the code itself leads to. */
const RECOVERY_CODE_BYTES = 10;

export interface SecondFactorParts {
  secondFactors: SecondFactors;
  /** Seals the secrets of apps. */
  flash: Flash;
  secret: string;
  now: () => number;
}

/** Codes of authenticator apps (RFC 6238), and recovery codes in place of them. Each works once. */
export function createSecondFactor({ secondFactors, flash, secret, now }: SecondFactorParts) {
  const marks = createMarks('recovery codes', secret);
  const markOf = (personId: string, code: string): string => marks.of(`${personId} ${code}`);
  const sealedFor = (personId: string): string => `second factor of ${personId}`;
  return {
    /** A secret for an app, and recovery codes, which count when a code of the app has come; null for a person with some that do. */
    async begin({ id, email }: Person) {
      const key = randomBytes(SECRET_BYTES);
      const recoveryCodes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
      const isBegun = await secondFactors.begin(
        id,
        flash.seal(sealedFor(id), key.toString('hex')),
        recoveryCodes.map((code) => markOf(id, code)),
      );
      return isBegun ? { secret: base32(key), uri: appUri(key, email), recoveryCodes } : null;
    },

    /** Takes a code of an app, with which what has begun counts; of one that counts, a recovery code too. */
    async take(personId: string, typed: string, state: 'counts' | 'begun'): Promise<boolean> {
      const code = typed.replaceAll(/\s/g, '');
      if (!isAppCode(code)) {
        // A recovery code shows nothing of the app.
        return (
          state === 'counts' && secondFactors.takeRecoveryCode(personId, markOf(personId, code))
        );
      }
      const sealed = await secondFactors.secretOf(personId, state);
      if (sealed === undefined) return false;
      const key = flash.open(sealedFor(personId), sealed);
      if (key === null) throw new Error('a second factor was sealed with another SESSION_SECRET');
      const step = stepOfCode(Buffer.from(key, 'hex'), code, now());
      return step !== undefined && secondFactors.takeStep(personId, sealed, step);
    },
  };
}

const newRecoveryCode = (): string =>
  base32(randomBytes(RECOVERY_CODE_BYTES))
    .toLowerCase()
    .replaceAll(/(.{4})(?=.)/g, '$1-');
