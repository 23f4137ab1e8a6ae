import type { Region } from '#shared/catalogue/catalogue.ts';
import { regionFault } from '#shared/catalogue/routing.ts';
import { failureOfStore } from '#shared/kernel/store-away.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Admission, AdmissionRequest } from '#shared/lanes/redis/admission.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import type { Room } from '#shared/lanes/room.ts';
import { limitHeaders } from '#api/plugins/rate-headers.ts';
import type { Routed } from '../route.ts';
import { mostOf, partsOf, reservesOf } from './budgets.ts';
import { pinOf } from './refusals.ts';

/** Regions that a worker may hand the request on to: each may take as long as its upstreams do to fail. */
const MOVES_MAX = 2;
export interface RegionDeps {
  /** Room for requests in a region, by how fast it is served; none where no worker is. */
  roomIn: (region: Region) => Room | Promise<Room>;
  /** As receipts are estimated, for budgets of energy and greenhouse gas. */
  estimate: Methodology['estimate'];
}

/** The word of admission on a request, at the region that it was asked for last. */
export interface Judged {
  readonly admission: Admission;
  readonly entry: Readonly<InferenceEntry>;
  /** Of the answer: where its caller stands with its limits. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Asks for the first of a request's regions that has room; only saturation moves it on to the next.
 * @throws Fault when Redis cannot be asked, and when no worker is in any of them
 */
export async function firstWithRoom(
  deps: RegionDeps,
  { entry: unplaced, resolution, extent, fingerprint, isPaid }: Routed,
  { limits, keyLimit, budgets: hardBudgets }: Credential,
  question: (place: Omit<AdmissionRequest, 'body'>) => Promise<Admission>,
): Promise<Judged> {
  const { candidates } = resolution;
  const budgets =
    hardBudgets.length === 0
      ? undefined
      : partsOf(
          hardBudgets,
          unplaced,
          mostOf({ entry: unplaced, extent, resolution }, deps.estimate),
        );
  const judged = await ask(async () => {
    let last: (Pick<Judged, 'admission' | 'entry'> & { room: Room }) | undefined;
    for (const { region } of candidates) {
      const others = candidates.filter((other) => other.region !== region).slice(0, MOVES_MAX);
      const entry: InferenceEntry = { ...unplaced, region: region.code };
      if (budgets !== undefined && budgets.length > 0) entry.reserves = reservesOf(budgets);
      if (others.length > 0) entry.elsewhere = others.map((other) => other.region.code);
      const found = deps.roomIn(region);
      const room = found instanceof Promise ? await found : found;
      const admission = await question({
        entry,
        limits,
        keyLimit,
        regionCapacity: room.region,
        orgCapacity: room.org,
        isPaid,
        ...(budgets === undefined ? {} : { budgets }),
        ...(fingerprint === undefined ? {} : { fingerprint }),
      });
      last = { admission, entry, room };
      if (admission.verdict !== 'saturated') break;
    }
    return last;
  });
  if (judged === undefined) throw new Error('a request without a region was routed');
  const { admission, entry, room } = judged;
  const headers = limitHeaders(limits.requestsPerDay, admission, entry.startedAt);
  // A stored answer is given also where nothing runs any more; a new request is not taken there.
  if (admission.verdict === 'saturated' && room.region === 0)
    throw regionFault('degraded', pinOf(resolution, entry.region), { headers });
  return { admission, entry, headers };
}

/** @throws Fault for what Redis does not answer */
export async function ask<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw failureOfStore(error);
  }
}
