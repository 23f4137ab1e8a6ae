import { createHash, hash } from 'node:crypto';
import { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { idempotencyKey } from '#shared/lanes/keys.ts';
import type { StoredAnswer } from '#shared/lanes/stored-answer.ts';

const KEY = /^[\x20-\x7e]{1,255}$/;

export interface IdempotencyClaim {
  /** The claim's key in Redis: scoped by organisation and route. */
  claim: string;
  /** SHA-256 over route, `x-region`, `anthropic-beta` and the raw body: what all of them have in common are identical requests. */
  fingerprint: string;
}

/** Begins each fingerprint, and says how it was made. */
const FINGERPRINT_FORM = '1:';

/** The claim a request makes with its Idempotency-Key, or undefined without one. */
export function claimOf(
  header: string | string[] | undefined,
  rawBody: Buffer,
  scope: { shard: number; orgId: string } & Identified,
): IdempotencyClaim | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !KEY.test(header)) {
    throw new Fault('invalid_idempotency_key');
  }
  const digest = hash('sha256', `${scope.route}\0${header}`, 'base64url');
  return {
    claim: idempotencyKey(scope.shard, scope.orgId, digest),
    fingerprint: fingerprintOf(scope, rawBody),
  };
}

/** What beside its body makes a request another one. */
interface Identified {
  route: Route;
  regionHeader: string | undefined;
  /** What goes upstream of `anthropic-beta`. */
  betas?: string | undefined;
}

function fingerprintOf({ route, regionHeader, betas }: Identified, rawBody: Buffer): string {
  // A header holds no NUL, so no two requests run together: a body that began with one would be no JSON.
  const more = betas === undefined ? '' : `\0${betas}\0`;
  const digest = createHash('sha256')
    .update(`${route}\0${regionHeader ?? ''}\0${more}`)
    .update(rawBody);
  return `${FINGERPRINT_FORM}${digest.digest('base64url')}`;
}

/** An answer and its receipt, as they are kept under a claim. */
export interface KeptAnswer {
  answer: StoredAnswer;
  receipt: string;
}

export interface StoredAnswerDeps {
  /** The answer that is kept under a settled claim of an organisation; null when it is no longer there. */
  readClaim: (claim: string, orgId: string) => Promise<KeptAnswer | null>;
}

/**
 * The answer that an identical request was given, its receipt, and the region where that one ran: this one might have
 * gone elsewhere by now.
 * @throws Fault when it has expired meanwhile
 */
export async function storedAnswer(
  { readClaim }: StoredAnswerDeps,
  { claim, orgId }: { claim?: string; orgId: string },
): Promise<StoredAnswer & { receipt: string; region: string }> {
  const stored = await readClaim(claim!, orgId);
  if (stored === null) throw STORED_ANSWER_GONE;
  const { credentialSubject } = JSON.parse(stored.receipt) as {
    credentialSubject: { region: string };
  };
  return { ...stored.answer, receipt: stored.receipt, region: credentialSubject.region };
}

const STORED_ANSWER_GONE = new Fault('internal_error', {
  message:
    'The stored answer to this request is no longer there. Try again with a new Idempotency-Key.',
});
