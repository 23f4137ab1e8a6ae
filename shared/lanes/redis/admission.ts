import { isEstimated } from '#shared/kernel/budget-measures.ts';
import { NO_VERDICT } from '#shared/kernel/store-away.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { PATIENCE } from '#patience';
import type { Limits, Rate } from '#shared/kernel/plan.ts';
import {
  bodyKey,
  budgetKey,
  heldKey,
  holdersKey,
  inferenceLane,
  leasesKey,
  limitsKey,
  receiptsLane,
  waiterName,
  waitersKey,
} from '../keys.ts';
import type { InferenceEntry, ReceiptEntry } from '../messages.ts';
import { BUDGET_LIFE_S, type BudgetCounters, type BudgetPart } from './budget-counters.ts';
import type { RedisClocks } from './redis-clock.ts';
import type { LaneScripts } from './scripts.ts';
import type { Seals } from '../seals.ts';
import {
  encodeEntryWithBodyApart,
  encodeInferenceEntry,
  encodeMessage,
  type WrittenEntry,
} from '../wire-format.ts';

/** Bodies above this travel as a claim check, so that lanes stay light and a reader's batch stays small. */
export const INLINE_BYTES_MAX = 256 * 1024;
/** Receipts owed while PostgreSQL is away: at about 1 KB each, half a gigabyte of Redis at the most. */
const RECEIPTS_LANE_MAX = 500_000;
/** A lease outlives two missed renewals. */
export const LEASE_MS = 30_000;
export const LEASE_RENEWAL_MS = 10_000;
/** Longer than any request runs. What stands in them has ends of its own. */
export const LEASES_MS = 86_400_000;
/** What a receipt settles is held for longer than a store should be away; without an end, a lost record would hold it for ever. */
const AWAITED_MS = DAY_MS;
/** Requests that may wait for one claim: each holds a connection, and the claim's end writes to all of them in one go. */
export const WAITERS_MAX = 256;
/** A claim or a body outlives the request's deadline by this much, then Redis forgets it. */
export const AFTERLIFE_S = 60;

export interface AdmissionRequest {
  entry: InferenceEntry;
  /** The body that the upstream is to get: JSON text, or its UTF-8. */
  body: string | Uint8Array;
  limits: Limits;
  /** The key's own, below its organisation's; null when it has none. */
  keyLimit: Rate | null;
  /** Requests waiting or running in the region before it is saturated. */
  regionCapacity: number;
  /** The same for the requests of this organisation alone. */
  orgCapacity: number;
  /** The hard budgets that it falls under, and what it may use of them; `entry.reserves` says the same to its worker. */
  budgets?: readonly BudgetPart[];
  /** Its arrival was taken before (`takeArrival`), and is not taken again. */
  isPaid?: boolean;
  /** What identical requests have in common, when the request has an Idempotency-Key (then `entry.claim` is set). */
  fingerprint?: string;
}

/** A request before it is routed, and what its Idempotency-Key claims. */
export interface ClaimLookUp extends Pick<AdmissionRequest, 'limits' | 'keyLimit'> {
  entry: Omit<InferenceEntry, 'model' | 'region' | 'tier'> & { claim: string };
  fingerprint: string;
}

/** Where a caller stands with the limit that is nearest: its organisation's, or its key's own. */
export interface RateState {
  /** Requests per second that this limit allows. */
  perSecond: number;
  remaining: number;
  resetMs: number;
}

export interface LimitState extends RateState {
  remainingToday: number;
}

export type Admission = LimitState &
  (
    | { verdict: 'admitted'; laneEntryId: string }
    /** The answer to an identical request is stored. */
    | { verdict: 'replay'; requestId: string }
    /** An identical request is running; a `settled` or `error` reply will come. */
    | { verdict: 'wait'; requestId: string }
    /** Screening had refused it, and that is on its way to a receipt. */
    | { verdict: 'recorded' }
    /** Its arrival is taken, and nothing else has happened. */
    | { verdict: 'arrived' }
    /** The Idempotency-Key was used with another body. */
    | { verdict: 'reused' }
    /** It may use more of a budget than is left of that. */
    | { verdict: 'budget'; budget: BudgetPart; left: number; retryMs: number }
    | { verdict: 'rate' | 'day' | 'streams' | 'waiters' | 'saturated' | 'backlog'; retryMs: number }
  );

export interface AdmissionOptions {
  /** Redis's clocks, from which follows until when a request may be admitted. Without them, for ever. */
  clocks?: Pick<RedisClocks, 'of'>;
  /** Called with what was admitted after all, when Redis said so only after the caller had been told that it failed. */
  onLate?: (entry: InferenceEntry, laneEntryId: string) => void;
  /** The same of one that was to wait for, or be given, the answer to an identical one, `runs`: as a stream it has taken a lease. */
  onLateRepeat?: (entry: InferenceEntry, runs: string) => void;
  /** The script's clock in microseconds, in tests; the server's otherwise. */
  clockUs?: () => string;
  /** Makes counters of budgets that Redis does not have. */
  budgets?: Pick<BudgetCounters, 'count' | 'compare'>;
  /** How many receipts may be owed, in tests. */
  receiptsLaneMax?: number;
}

/** A caller that is told within a second that Redis does not answer has waited this long for it. */
const PATIENCE_MS = 800 * PATIENCE;
/** A large body is longer on its way to Redis. */
const BYTES_PER_MS = 16_384;
/** A timer may fire this much early. */
const TIMER_SLACK_MS = 5;

/** As a socket says it whose server is silent. */
const tooLate = (): Error =>
  Object.assign(new Error('Redis did not answer a request for admission in time'), {
    code: 'ETIMEDOUT',
  });

/** What the script is asked: to admit a request, to record the refusal of one, for its arrival or for its claim alone. */
interface Asked {
  request: AdmissionRequest;
  /** What goes on the lane. */
  written: WrittenEntry;
  refused: string;
  what: 'admit' | 'paid' | 'arrival' | 'claim';
}

const NOTHING: WrittenEntry = { text: '', apart: undefined };

/** Whose limit it is that a script speaks of. */
export type Whose = 'org' | 'key';
type ScriptResult = [string, number, number, number, number, string, Whose];

/**
 * Admits or refuses a request in one atomic script (see admission.lua), on a connection whose commands have no time-out of
 * their own. Rejects when Redis does not answer in time. The request does not run after that: the script is told until
 * when it may admit, by Redis's own clock, because a frozen server reads what was sent to it when it goes on.
 */
export class Admissions {
  readonly #scripts: Pick<LaneScripts, 'admit'>;
  readonly #shards: number;
  readonly #seals: Pick<Seals, 'seal' | 'sealBytesInTurns'>;
  readonly #clocks: Pick<RedisClocks, 'of'> | undefined;
  readonly #onLate: NonNullable<AdmissionOptions['onLate']>;
  readonly #onLateRepeat: NonNullable<AdmissionOptions['onLateRepeat']>;
  readonly #clockUs: () => string;

  readonly #budgets: AdmissionOptions['budgets'];
  readonly #receiptsLaneMax: number;

  constructor(
    scripts: Pick<LaneScripts, 'admit'>,
    shards: number,
    seals: Pick<Seals, 'seal' | 'sealBytesInTurns'>,
    {
      clocks,
      onLate = () => {},
      onLateRepeat = () => {},
      clockUs = () => '',
      budgets,
      receiptsLaneMax = RECEIPTS_LANE_MAX,
    }: AdmissionOptions = {},
  ) {
    this.#budgets = budgets;
    this.#receiptsLaneMax = receiptsLaneMax;
    this.#scripts = scripts;
    this.#seals = seals;
    this.#shards = shards;
    this.#clocks = clocks;
    this.#onLate = onLate;
    this.#onLateRepeat = onLateRepeat;
    this.#clockUs = clockUs;
  }

  async admit(request: AdmissionRequest): Promise<Admission> {
    const written = await writeEntry(this.#seals, request.entry, request.body);
    return found(await this.#decide({ request, written, refused: '', what: admitting(request) }));
  }

  /**
   * Takes the arrival of a request that cannot be admitted yet, unless it would be refused now: it is to be judged, which
   * costs others something. It is admitted or recorded later with `isPaid`.
   */
  async takeArrival(request: AdmissionRequest): Promise<Admission> {
    const { fingerprint: _ofItsClaim, ...unclaimed } = request;
    const asked = { request: unclaimed, written: NOTHING, refused: '', what: 'arrival' } as const;
    return found(await this.#decide(asked));
  }

  /**
   * Hands the record of a request that screening has refused to the receipts lane. It costs its caller an arrival; beyond
   * the rate, and while the lane is full, nothing is recorded.
   */
  async record(request: AdmissionRequest, refused: ReceiptEntry): Promise<Admission> {
    const record = encodeMessage(refused);
    const asked = { request, written: NOTHING, refused: record, what: admitting(request) };
    return found(await this.#decide(asked));
  }

  /**
   * What an identical request has come to: `replay`, `wait`, or a refusal; null when there was none, or it failed, and
   * this one is to be admitted. Costs an arrival, and for a stream a lease, unless it is refused or null.
   * Rejects when Redis cannot be reached in time.
   */
  async recall(request: ClaimLookUp): Promise<Exclude<Admission, { verdict: 'admitted' }> | null> {
    const entry = { ...request.entry, model: '', region: '', tier: 'audit' as const };
    const unplaced = { ...request, entry, body: '', regionCapacity: 0, orgCapacity: 0 };
    const asked = { request: unplaced, written: NOTHING, refused: '', what: 'claim' } as const;
    const result = await this.#decide(asked);
    if (result?.verdict === 'admitted') throw new Error('admission was asked for a claim only');
    return result;
  }

  /**
   * Null: it was asked for a claim only, and there is none. Rejects once the caller is to be told that Redis did not
   * answer.
   */
  #decide(asked: Asked): Promise<Admission | null> {
    const { request, written } = asked;
    const patienceMs = PATIENCE_MS + (written.apart?.length ?? 0) / BYTES_PER_MS;
    const { promise, resolve, reject } = Promise.withResolvers<Admission | null>();
    let isOver = false;
    let last: NodeJS.Immediate | undefined;
    const timer = setTimeout(() => {
      // Where it was this process that had no time, the answer is there and unread: it is read before this.
      last = setImmediate(() => {
        isOver = true;
        reject(tooLate());
      });
    }, patienceMs);
    const answered = (admission: Admission | null): void => {
      clearTimeout(timer);
      clearImmediate(last);
      resolve(admission);
      if (!isOver || admission === null) return;
      const { verdict } = admission;
      if (verdict === 'admitted') this.#onLate(request.entry, admission.laneEntryId);
      if (verdict === 'wait' || verdict === 'replay')
        this.#onLateRepeat(request.entry, admission.requestId);
    };
    const failed = (error: unknown): void => {
      clearTimeout(timer);
      clearImmediate(last);
      reject(error);
    };
    this.#ask(asked, performance.now() + patienceMs - TIMER_SLACK_MS).then(answered, failed);
    return promise;
  }

  /** `until`: of this process's steady clock, in milliseconds. */
  async #ask(asked: Asked, until: number): Promise<Admission | null> {
    const { request } = asked;
    const result = await this.#inTime(asked, until);
    const { budgets = [] } = request;
    if (budgets.length === 0 || this.#budgets === undefined) return readVerdict(result, request);
    const { orgId, shard } = request.entry;
    const counted = budgets.map((part) => ({ orgId, shard, part }));
    if (result[0] !== 'uncounted') {
      for (const budget of counted) this.#budgets.compare(budget);
      return readVerdict(result, request);
    }
    await Promise.all(counted.map((budget) => this.#budgets!.count(budget)));
    return readVerdict(await this.#inTime(asked, until), request);
  }

  async #inTime(asked: Asked, until: number): Promise<ScriptResult> {
    const first = await this.#run(asked, until);
    if (first[0] !== 'late') return first;
    // When it is not, Redis's clock has been set, or another node answers: it is taken at its word.
    this.#clocks?.of(asked.request.entry.shard).reset(Number(first[5]));
    const second = await this.#run(asked, until);
    if (second[0] === 'late') throw tooLate();
    return second;
  }

  async #run({ request, written, refused, what }: Asked, until: number): Promise<ScriptResult> {
    const { entry, limits, keyLimit, budgets = [] } = request;
    const shard = entry.shard;
    const lifeS = Math.ceil((entry.deadlineAt - entry.startedAt) / 1_000) + AFTERLIFE_S;
    const owner = limitsKey(shard, entry.orgId);
    // A cluster wants every key in the script's slot, so an absent one is named by one that is there.
    const claim = entry.claim ?? owner;
    const result = await this.#scripts.admit({
      ...rateArguments(limits, keyLimit),
      orgLimits: owner,
      keyLimits: keyLimit === null ? owner : limitsKey(shard, entry.keyId),
      leases: leasesKey(shard, entry.orgId),
      lane: inferenceLane(shard, entry.region),
      receiptsLane: receiptsLane(shard),
      body: bodyKey(shard, entry.id),
      claim,
      waiters: waitersKey(claim),
      held: heldKey(shard, entry.region, entry.orgId),
      what,
      requestId: entry.id,
      entry: written.text,
      perDay: limits.requestsPerDay,
      streams: entry.stream ? limits.concurrentStreams : 0,
      leaseMs: LEASE_MS,
      leasesMs: LEASES_MS,
      laneMax: Math.ceil(request.regionCapacity / this.#shards),
      heldMax: request.orgCapacity,
      receiptsMax: this.#receiptsLaneMax,
      waitersMax: WAITERS_MAX,
      fingerprint: request.fingerprint ?? '',
      waiter: waiterName(entry.inbox, entry.id),
      largeBody: written.apart ?? '',
      lifeS,
      deadlineMs: entry.deadlineAt,
      refusedRecord: refused,
      clockUs: this.#clockUs(),
      untilUs: this.#clocks?.of(shard).timeUs(until - performance.now()) ?? '',
      moreKeys: budgets.flatMap((part) => {
        const counter = budgetKey(shard, entry.orgId, part);
        return [counter, holdersKey(counter)];
      }),
      moreArguments: budgets.flatMap(({ measure, limit, amount }) => [
        limit,
        amount,
        BUDGET_LIFE_S,
        isEstimated(measure) ? AWAITED_MS : lifeS * 1_000,
      ]),
    });
    // Seen while a master of a cluster was replaced: whether the script ran is unknown, as when a connection breaks.
    if (!Array.isArray(result)) throw new Error(NO_VERDICT);
    return result as ScriptResult;
  }
}

/** Seals the body. A large one takes a while: that is over before the time begins to run in which Redis must answer. */
export function writeEntry(
  seals: Pick<Seals, 'seal' | 'sealBytesInTurns'>,
  entry: InferenceEntry,
  body: string | Uint8Array,
): WrittenEntry | Promise<WrittenEntry> {
  if (body.length <= INLINE_BYTES_MAX) return encodeInferenceEntry(seals, entry, body);
  const head = { ...entry, bodyRef: bodyKey(entry.shard, entry.id) };
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return encodeEntryWithBodyApart(seals, head, bytes);
}

function admitting({ isPaid }: AdmissionRequest): 'admit' | 'paid' {
  return isPaid === true ? 'paid' : 'admit';
}

function found(admission: Admission | null): Admission {
  if (admission === null) throw new Error('admission looked a claim up, and was not asked to');
  return admission;
}

/** The interval of a rate, in whole microseconds; rounded up, so that the rate is never exceeded. */
export function intervalUsOf(requestsPerSecond: number): number {
  return Math.max(1, Math.ceil(1_000_000 / requestsPerSecond));
}

/** Rates as scripts take them: microseconds per request, and how many at once; zeros where a key has none of its own. */
export function rateArguments(
  rate: Rate,
  keyLimit: Rate | null,
): Record<'interval' | 'burst' | 'keyInterval' | 'keyBurst', number> {
  return {
    interval: intervalUsOf(rate.requestsPerSecond),
    burst: rate.burst,
    keyInterval: keyLimit === null ? 0 : intervalUsOf(keyLimit.requestsPerSecond),
    keyBurst: keyLimit?.burst ?? 0,
  };
}

/** What a script says of where a caller stands, in the numbers of the limit that it speaks of. */
export function readRateState(
  remaining: number,
  resetUs: number,
  whose: Whose,
  { limits, keyLimit }: { limits: Pick<Rate, 'requestsPerSecond'>; keyLimit: Rate | null },
): RateState {
  const { requestsPerSecond } = whose === 'key' ? keyLimit! : limits;
  return { perSecond: requestsPerSecond, remaining, resetMs: Math.ceil(resetUs / 1_000) };
}

function readVerdict(
  result: ScriptResult,
  request: Pick<AdmissionRequest, 'entry' | 'limits' | 'keyLimit' | 'budgets'>,
): Admission | null {
  const [verdict, retryUs, remaining, resetUs, remainingToday, id, whose] = result;
  const state = { ...readRateState(remaining, resetUs, whose, request), remainingToday };
  switch (verdict) {
    case 'absent':
      return null;
    case 'admitted':
      return { ...state, verdict, laneEntryId: id };
    case 'replay':
    case 'wait':
      return { ...state, verdict, requestId: id };
    case 'reused':
    case 'recorded':
    case 'arrived':
      return { ...state, verdict };
    case 'budget':
      return budgetState(state, request, { which: Number(id), left: retryUs });
    case 'rate':
    case 'day':
    case 'streams':
    case 'waiters':
    case 'saturated':
    case 'backlog':
      return { ...state, verdict, retryMs: Math.ceil(retryUs / 1_000) };
    default:
      throw new Error(`admission script returned an unknown verdict: ${verdict}`);
  }
}

/** The budget that does not allow a request, and how long its period lasts from when that began. */
function budgetState(
  state: LimitState,
  { entry, budgets = [] }: Pick<AdmissionRequest, 'entry' | 'budgets'>,
  { which, left }: { which: number; left: number },
): Admission {
  const budget = budgets[which]!;
  const retryMs = Math.max(1, budget.until - entry.startedAt);
  return { ...state, verdict: 'budget', budget, left, retryMs };
}
