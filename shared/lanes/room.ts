/** How a region is served: requests that its workers run at once, and finished lately, a second. */
export interface Serving {
  slots: number;
  perSecond: number;
}

/** What waits is served within about so long, at the pace of the last seconds. */
const WAIT_S = 10;
/** An organisation may keep all others waiting for no longer than this. */
const ORG_WAIT_S = 2;
/** The part of a region's slots that one organisation may fill with requests that take long. */
const ORG_SHARE = 0.75;

/** Requests that a region, and one organisation in it, may have waiting or running. */
export interface Room {
  region: number;
  org: number;
}

/**
 * The room of a region: what its workers run at once, as much again (they may have just been started), and what they
 * finish within `WAIT_S`; never more than the catalogue's capacity. A region without workers has none.
 * `isOnlyFor`: the region is there for one organisation, which has all of it.
 */
export function roomOf(
  serving: Serving | undefined,
  capacity: number,
  isOnlyFor: boolean = false,
): Room {
  if (serving === undefined) return { region: 0, org: 0 };
  const { slots, perSecond } = serving;
  const region = Math.min(capacity, 2 * slots + Math.ceil(perSecond * WAIT_S));
  const org = Math.ceil(slots * ORG_SHARE + perSecond * ORG_WAIT_S);
  return { region, org: isOnlyFor ? region : Math.min(region, Math.max(1, org)) };
}
