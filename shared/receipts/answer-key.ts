import { hash } from 'node:crypto';

/**
 * The number under which the receipt of an answer is found by the answer's id: eight bytes of a hash, since an index over
 * whole ids of upstreams would be the larger part of what a receipt writes. Decimal text, as PostgreSQL takes a bigint.
 */
export function answerKey(orgId: string, answerId: string): string {
  return hash('sha256', `${orgId}\n${answerId}`, 'buffer').readBigInt64BE().toString();
}
