import { hash } from 'node:crypto';
import { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { idempotencyKey } from '#shared/lanes/keys.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { StoredAnswer } from '#shared/lanes/stored-answer.ts';

const KEY = /^[\x20-\x7e]{1,255}$/;

export interface IdempotencyClaim {
  /** The claim's key in Redis: scoped by organisation and route. */
  claim: string;
  /** SHA-256 of the raw body: identical requests are those with identical bytes. */
  fingerprint: string;
}

/** The claim a request makes with its Idempotency-Key, or undefined without one. */
export function claimOf(
  header: string | string[] | undefined,
  rawBody: Buffer,
  scope: { shard: number; orgId: string; route: Route },
): IdempotencyClaim | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !KEY.test(header)) {
    throw new Fault('invalid_idempotency_key');
  }
  const digest = hash('sha256', `${scope.route}\0${header}`, 'base64url');
  return {
    claim: idempotencyKey(scope.shard, scope.orgId, digest),
    fingerprint: hash('sha256', rawBody, 'base64url'),
  };
}

export interface StoredAnswerDeps {
  /** The answer that is kept under a settled claim; null when it is no longer there. */
  readClaim: (claim: string) => Promise<{ answer: StoredAnswer; receipt: string } | null>;
}

/**
 * The answer that an identical request was given, its receipt, and the region where that one ran: this one might have
 * gone elsewhere by now.
 * @throws Fault when it has expired meanwhile
 */
export async function storedAnswer(
  { readClaim }: StoredAnswerDeps,
  { claim }: InferenceEntry,
): Promise<StoredAnswer & { receipt: string; region: string }> {
  const stored = await readClaim(claim!);
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
