import type { Credential } from '#shared/keys/credential.ts';
import type { ErrorCode } from '#shared/kernel/error-codes.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { inferenceLane } from '#shared/lanes/keys.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Admission, AdmissionRequest, Admissions } from '#shared/lanes/redis/admission.ts';
import type { ReceiptEntry } from '#shared/lanes/messages.ts';
import type { Region } from '#shared/catalogue/catalogue.ts';
import { regionFault } from '#shared/catalogue/routing.ts';
import type { Room } from '#shared/lanes/room.ts';
import type { ApiEvents } from '#api/events.ts';
import { limitHeaders } from '#api/plugins/rate-headers.ts';
import type { Exchange } from './exchange.ts';
import type { OpenExchanges } from './open-exchanges.ts';
import type { Prepared } from './prepare.ts';
import type { Unrouted, UnroutedEntry } from './read.ts';

/** Regions that are tried after the first: each may take as long as its upstreams do to fail. */
const MOVES_MAX = 2;
/** A promotion takes a few of these. */
const OUTAGE_RETRY_MS = 1_000;

export interface AdmitDeps {
  admissions: Pick<Admissions, 'admit' | 'recall' | 'record' | 'takeArrival'>;
  exchanges: OpenExchanges;
  events: Pick<ApiEvents, 'storeFailed'>;
  /** Room for requests in a region, by how fast it is served; none where no worker is. */
  roomIn: (region: Region) => Room | Promise<Room>;
  /** What a caller is told when admission cannot be asked: a cluster has another master within seconds. */
  outage: 'internal_error' | 'dispatch_unavailable';
}

export interface Admitted {
  /** To be opened when its replies may be heard. */
  exchange: Exchange;
  entry: UnroutedEntry;
  /** The entry that is on a lane; null when an identical request is there, or was. */
  run: InferenceEntry | null;
  /** The answer is stored already. */
  stored: boolean;
  /** Headers of the answer that are known now: a stream that waits for long sends them with its first keepalive. */
  headers: Record<string, string>;
}

/**
 * What an identical request with the same Idempotency-Key has come to; null when there is none to wait for, and this one
 * is to be admitted. Asked before anything that may have changed since: the answer is given back though its region is
 * degraded now, and no text is judged twice.
 * @throws Fault when it is refused, and when Redis cannot be asked
 */
export async function recall(
  { admissions, exchanges, events, outage }: AdmitDeps,
  { entry, fingerprint }: Unrouted,
  { limits, keyLimit }: Credential,
): Promise<Admitted | null> {
  const { claim } = entry;
  if (claim === undefined || fingerprint === undefined) return null;
  const request = { entry: { ...entry, claim }, limits, keyLimit };
  const exchange = exchanges.expect(entry);
  const found = await ask({ exchange, events, outage }, () =>
    admissions.recall({ ...request, fingerprint }),
  );
  if (found === null) {
    exchange.close();
    return null;
  }
  return repeated(found, exchange, limitHeaders(limits.requestsPerDay, found, entry.startedAt));
}

/**
 * Has a request admitted, in the first of its regions that has room; only saturation moves it on to the next. Its
 * exchange is there before that, because a fast worker's first reply may come before the admission's own.
 * @throws Fault when it is refused, and when Redis cannot be asked
 */
export async function admit(
  deps: AdmitDeps,
  prepared: Prepared,
  body: string | Uint8Array,
  credential: Credential,
): Promise<Admitted> {
  const { entry } = prepared;
  const exchange = deps.exchanges.expect(entry);
  const { admission, headers } = await whereThereIsRoom(
    { ...deps, exchange },
    prepared,
    credential,
    (place) => deps.admissions.admit({ ...place, body }),
  );
  if (admission.verdict !== 'admitted')
    return repeated(admission, exchange, headers, pinOf(prepared));
  exchange.place = {
    region: entry.region,
    lane: inferenceLane(entry.shard, entry.region),
    entryId: admission.laneEntryId,
  };
  exchange.leased = entry.stream;
  headers['x-region'] = entry.region;
  exchange.whenMoved = (region) => {
    headers['x-region'] = region;
  };
  return { exchange, entry, run: entry, stored: false, headers };
}

/**
 * Takes the arrival of a request before others are asked to judge it: who is over a limit is refused first, and at no
 * cost. It is not taken again when the request is admitted, or the refusal that follows is recorded.
 * @throws Fault when it is refused, and when Redis cannot be asked
 */
export async function takeArrival(
  deps: Pick<AdmitDeps, 'admissions' | 'events' | 'outage' | 'roomIn'>,
  prepared: Prepared,
): Promise<void> {
  const { admission, headers } = await whereThereIsRoom(
    deps,
    prepared,
    prepared.credential,
    (place) => deps.admissions.takeArrival({ ...place, body: '' }),
  );
  if (admission.verdict !== 'arrived')
    throw refusalOf(admission as Refused, pinOf(prepared), headers);
  prepared.isPaid = true;
}

type Asking = Pick<AdmitDeps, 'events' | 'outage'> & { exchange?: Exchange };

/** Asks for the first of a request's regions that has room. */
async function whereThereIsRoom(
  { roomIn, ...asking }: Asking & Pick<AdmitDeps, 'roomIn'>,
  prepared: Prepared,
  { limits, keyLimit }: Credential,
  question: (place: Omit<AdmissionRequest, 'body'>) => Promise<Admission>,
): Promise<{ admission: Admission; headers: Record<string, string> }> {
  const { entry, resolution, fingerprint, isPaid } = prepared;
  let capacity = 0;
  let org = 0;
  const admission = await ask(asking, async () => {
    let last: Admission | undefined;
    for (const { region } of resolution.candidates) {
      entry.region = region.code;
      const others = resolution.candidates.filter((other) => other.region !== region);
      if (others.length > 0)
        entry.elsewhere = others.slice(0, MOVES_MAX).map((other) => other.region.code);
      const room = roomIn(region);
      ({ region: capacity, org } = room instanceof Promise ? await room : room);
      last = await question({
        entry,
        limits,
        keyLimit,
        regionCapacity: capacity,
        orgCapacity: org,
        ...(isPaid === true ? { isPaid } : {}),
        ...(fingerprint === undefined ? {} : { fingerprint }),
      });
      if (last.verdict !== 'saturated') break;
    }
    return last!;
  });
  const headers = limitHeaders(limits.requestsPerDay, admission, entry.startedAt);
  // A stored answer is given also where nothing runs any more; a new request is not taken there.
  if (admission.verdict === 'saturated' && capacity === 0) {
    asking.exchange?.close();
    throw regionFault('degraded', pinOf(prepared), { headers });
  }
  return { admission, headers };
}

async function ask<T>(
  { exchange, events, outage }: Asking,
  question: () => Promise<T>,
): Promise<T> {
  try {
    return await question();
  } catch (error) {
    exchange?.close();
    events.storeFailed(error);
    throw new Fault(outage, { cause: error, retryAfterMs: OUTAGE_RETRY_MS });
  }
}

/**
 * Has the record of a request that screening has refused handed on, at the cost of an arrival. Returns the headers of the
 * refusal, which stands even when it cannot be recorded; then it has no receipt, and names none.
 * @throws Fault when its caller is over its rate: then the record is not made
 */
export async function recordRefusal(
  { admissions, events }: Pick<AdmitDeps, 'admissions' | 'events'>,
  { entry, credential: { limits, keyLimit }, isPaid = false }: Prepared,
  refused: ReceiptEntry,
): Promise<Record<string, string>> {
  let admission: Admission;
  try {
    const nowhere = { body: '', regionCapacity: 0, orgCapacity: 0 };
    const request = { entry, limits, keyLimit, isPaid, ...nowhere };
    admission = await admissions.record(request, refused);
  } catch (error) {
    events.storeFailed(error);
    return {};
  }
  const headers = limitHeaders(limits.requestsPerDay, admission, entry.startedAt);
  if (admission.verdict === 'recorded')
    return { ...headers, 'x-receipt-id': receiptIdOf(entry.id) };
  throw refusalOf(admission as Refused, null, headers);
}

/** A request that is not run itself: an identical one is, or was. @throws Fault when it is refused */
function repeated(
  admission: Exclude<Admission, { verdict: 'admitted' }>,
  exchange: Exchange,
  headers: Record<string, string>,
  pin: string | null = null,
): Admitted {
  const { entry } = exchange;
  if (admission.verdict !== 'wait' && admission.verdict !== 'replay') {
    exchange.close();
    if (admission.verdict === 'recorded' || admission.verdict === 'arrived')
      throw new Error(`a request to be run was ${admission.verdict}`);
    throw refusalOf(admission, pin, headers);
  }
  headers['idempotent-replayed'] = 'true';
  headers['x-receipt-id'] = receiptIdOf(admission.requestId);
  exchange.leased = entry.stream;
  const stored = admission.verdict === 'replay';
  if (stored) exchange.stored();
  else exchange.waitsFor = admission.requestId;
  return { exchange, entry, run: null, stored, headers };
}

type Refused = Exclude<
  Admission,
  { verdict: 'admitted' | 'arrived' | 'replay' | 'wait' | 'recorded' }
>;

const CODES = {
  reused: 'idempotency_key_reused',
  rate: 'requests_per_second_exceeded',
  day: 'daily_budget_exceeded',
  streams: 'concurrent_streams_exceeded',
  waiters: 'requests_per_second_exceeded',
  backlog: 'dispatch_unavailable',
} as const satisfies Partial<Record<Refused['verdict'], ErrorCode>>;

const WAITING = {
  message:
    'Too many identical requests wait for the answer to this one already. Try again shortly.',
};

/** The region that a request is pinned to; null where it might go to others. */
function pinOf({ resolution, entry }: Prepared): string | null {
  return resolution.isPinned ? entry.region : null;
}

/** The refusal of a request that was not admitted. */
function refusalOf(admission: Refused, pin: string | null, headers: Record<string, string>): Fault {
  if (admission.verdict === 'reused') return new Fault(CODES.reused, { headers });
  const details = { headers, retryAfterMs: admission.retryMs };
  if (admission.verdict === 'waiters') return new Fault(CODES.waiters, { ...details, ...WAITING });
  if (admission.verdict !== 'saturated') return new Fault(CODES[admission.verdict], details);
  return regionFault('saturated', pin, details);
}
