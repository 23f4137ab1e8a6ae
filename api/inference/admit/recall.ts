import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { Admissions } from '#shared/lanes/redis/admission.ts';
import { limitHeaders } from '#api/plugins/rate-headers.ts';
import type { OpenExchanges } from '../exchange/open-exchanges.ts';
import type { Unrouted } from '../read.ts';
import { type Admitted, repeated } from './admitted.ts';
import { ask } from './regions.ts';

export interface RecallDeps {
  admissions: Pick<Admissions, 'recall'>;
  exchanges: Pick<OpenExchanges, 'whileExpecting'>;
  index: () => RoutingIndex;
}

/**
 * What an identical request with the same Idempotency-Key has come to; null when there is none to wait for, and this one
 * is to be admitted. Asked before anything that may have changed since: the answer is given back though its region is
 * degraded now, and no text is judged twice.
 * @throws Fault when it is refused, and when Redis cannot be asked
 */
export function recall(
  deps: RecallDeps,
  { entry, fingerprint, asked }: Unrouted,
  { limits, keyLimit }: Credential,
): Promise<Admitted | null> {
  const { claim } = entry;
  if (claim === undefined || fingerprint === undefined) return Promise.resolve(null);
  const request = { entry: { ...entry, claim }, limits, keyLimit, fingerprint };
  return deps.exchanges.whileExpecting(entry, async (exchange) => {
    const found = await ask(() => deps.admissions.recall(request));
    if (found === null) return null;
    const headers = limitHeaders(limits.requestsPerDay, found, entry.startedAt);
    const model = deps.index().byName.get(asked.model)?.model.id ?? asked.model;
    return repeated(found, exchange, { limits: headers, pin: null, model });
  });
}
