import type { Credential } from '#shared/keys/credential.ts';
import type { Admissions } from '#shared/lanes/redis/admission.ts';
import type { Routed } from '../route.ts';
import { pinOf, type Refused, refusalOf } from './refusals.ts';
import { firstWithRoom, type RegionDeps } from './regions.ts';

export interface ArrivalDeps extends RegionDeps {
  admissions: Pick<Admissions, 'takeArrival'>;
}

/**
 * Takes the arrival of a request before others are asked to judge it: who is over a limit is refused first, and at no
 * cost. It is not taken again when the request is admitted, or the refusal that follows is recorded.
 * @throws Fault when it is refused, and when Redis cannot be asked
 */
export async function takeArrival(
  deps: ArrivalDeps,
  request: Routed,
  credential: Credential,
): Promise<Routed> {
  const { admission, entry, headers } = await firstWithRoom(deps, request, credential, (place) =>
    deps.admissions.takeArrival({ ...place, body: '' }),
  );
  if (admission.verdict !== 'arrived')
    throw refusalOf(admission as Refused, pinOf(request.resolution, entry.region), headers);
  return { ...request, entry, isPaid: true };
}
