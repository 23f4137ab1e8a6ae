import { randomBytes } from 'node:crypto';
import type { Person } from '#shared/persons/roles.ts';
import type { SecondFactors } from '#shared/persons/postgres/second-factors.ts';
import type { SignedIn } from '#shared/persons/sessions.ts';
import { appUri, base32, isAppCode, stepOfCode } from './app-code.ts';
import type { Flash } from './flash.ts';
import { PageError } from '../page-error.ts';
import { createMarks, type SessionSecrets } from './secrets.ts';

/** RFC 4226, 4: as long as the hash. */
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
/** 80 bits, which nothing but the code itself leads to. */
const RECOVERY_CODE_BYTES = 10;

export interface SecondFactorParts {
  secondFactors: SecondFactors;
  /** Seals the secrets of apps. */
  flash: Flash;
  sessionSecrets: SessionSecrets;
  /** Whom a person writes to whose second factor is lost. */
  supportEmail: string;
  now: () => number;
}

/** Codes of authenticator apps (RFC 6238), and recovery codes in place of them. Each works once. */
export function createSecondFactor(parts: SecondFactorParts) {
  const { secondFactors, flash, sessionSecrets, supportEmail, now } = parts;
  const marks = createMarks('recovery codes', sessionSecrets);
  const subjectOf = (personId: string, code: string): string => `${personId} ${plain(code)}`;
  const sealedFor = (personId: string): string => `second factor of ${personId}`;
  return {
    /** Whether this looks like a code of an app, of which there are few enough to try. */
    isOfApp: (typed: string): boolean => isAppCode(plain(typed)),

    /** A secret for an app, and recovery codes, which count when a code of the app has come; null for a person with some that do. */
    async begin({ id, email }: Person) {
      const key = randomBytes(SECRET_BYTES);
      const recoveryCodes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
      const isBegun = await secondFactors.begin(
        id,
        flash.seal(sealedFor(id), key.toString('hex')),
        recoveryCodes.map((code) => marks.of(subjectOf(id, code))),
      );
      return isBegun ? { secret: base32(key), uri: appUri(key, email), recoveryCodes } : null;
    },

    /** Takes a code of an app that counts, or a recovery code. */
    async take(personId: string, typed: string): Promise<boolean> {
      const sealed = await secondFactors.secretOf(personId, 'counts');
      if (sealed === undefined) return false;
      const key = flash.open(sealedFor(personId), sealed);
      // With another SESSION_SECRET no code counts any more.
      if (key === null) throw lost(supportEmail);
      const code = plain(typed);
      if (!isAppCode(code))
        return secondFactors.takeRecoveryCode(personId, marks.allOf(subjectOf(personId, code)));
      const step = stepOfCode(Buffer.from(key, 'hex'), code, now());
      if (step === undefined) return false;
      const renewed = flash.renewed(sealedFor(personId), sealed, key);
      return secondFactors.takeStep(personId, { secret: sealed, renewed, step });
    },

    /** Takes the first code of an app that has begun, with which it counts. A recovery code shows nothing of the app. */
    async takeFirst(begunBy: SignedIn, typed: string): Promise<boolean> {
      const { id } = begunBy.person;
      const sealed = await secondFactors.secretOf(id, 'begun');
      // With another SESSION_SECRET it is begun again.
      const key = sealed === undefined ? null : flash.open(sealedFor(id), sealed);
      const code = plain(typed);
      if (sealed === undefined || key === null || !isAppCode(code)) return false;
      const step = stepOfCode(Buffer.from(key, 'hex'), code, now());
      if (step === undefined) return false;
      const renewed = flash.renewed(sealedFor(id), sealed, key);
      return secondFactors.takeFirstStep(begunBy, { secret: sealed, renewed, step });
    },
  };
}

/** A code without what people type to read it by: recovery codes in capitals too, and hyphens and spaces. */
const plain = (typed: string): string => typed.toLowerCase().replaceAll(/[\s\p{Pd}]/gu, '');

const lost = (supportEmail: string): PageError =>
  new PageError(
    503,
    'Your second factor has to be reset',
    `The service can no longer read it, and cannot accept its codes. Write to ${supportEmail}; once it is reset, you can sign in with your password.`,
  );

const newRecoveryCode = (): string =>
  base32(randomBytes(RECOVERY_CODE_BYTES))
    .toLowerCase()
    .replaceAll(/(.{4})(?=.)/g, '$1-');
