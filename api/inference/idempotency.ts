import { hash } from 'node:crypto';
import { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { idempotencyKey } from '#shared/lanes/keys.ts';

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
    throw new Fault(
      'invalid_idempotency_key',
      'Idempotency-Key must be 1 to 255 printable ASCII characters.',
      { param: 'Idempotency-Key' },
    );
  }
  const digest = hash('sha256', `${scope.route}\0${header}`, 'base64url');
  return {
    claim: idempotencyKey(scope.shard, scope.orgId, digest),
    fingerprint: hash('sha256', rawBody, 'base64url'),
  };
}
