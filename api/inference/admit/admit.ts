import type { Credential } from '#shared/keys/credential.ts';
import type { Admissions } from '#shared/lanes/redis/admission.ts';
import type { OpenExchanges } from '../exchange/open-exchanges.ts';
import type { Routed } from '../route.ts';
import { type Admitted, repeated } from './admitted.ts';
import { pinOf } from './refusals.ts';
import { firstWithRoom, type RegionDeps } from './regions.ts';

export interface AdmitDeps extends RegionDeps {
  admissions: Pick<Admissions, 'admit'>;
  exchanges: Pick<OpenExchanges, 'whileExpecting'>;
}

/**
 * Has a request admitted, in the first of its regions that has room. Its exchange is there before that, because a fast
 * worker's first reply may come before the admission's own.
 * @throws Fault when it is refused, and when Redis cannot be asked
 */
export function admit(
  deps: AdmitDeps,
  request: Routed,
  body: string | Uint8Array,
  credential: Credential,
): Promise<Admitted> {
  return deps.exchanges.whileExpecting(request.entry, async (exchange) => {
    const judged = await firstWithRoom(deps, request, credential, (place) =>
      deps.admissions.admit({ ...place, body }),
    );
    const { admission, entry, headers } = judged;
    if (admission.verdict !== 'admitted')
      return repeated(admission, exchange, {
        limits: headers,
        pin: pinOf(request.resolution, entry.region),
        model: entry.model,
      });
    exchange.admitted(entry, admission.laneEntryId);
    const { id: requestId, startedAt, model, previous } = entry;
    const names = { requestId, startedAt, model, previous };
    return { exchange, entry, run: entry, names, stored: false, headers };
  });
}
