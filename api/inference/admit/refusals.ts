import { regionFault, type Resolution } from '#shared/catalogue/routing.ts';
import { fromSteps } from '#shared/kernel/budget-measures.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import type { ErrorCode } from '#shared/kernel/error-codes.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { named } from '#shared/kernel/plain-text.ts';
import { dateTime, HOUR_MS } from '#shared/kernel/time.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { ReceiptEntry } from '#shared/lanes/messages.ts';
import type { Admission, Admissions } from '#shared/lanes/redis/admission.ts';
import type { ApiEvents } from '#api/events.ts';
import { limitHeaders } from '#api/plugins/rate-headers.ts';
import type { Routed } from '../route.ts';

export type Refused = Exclude<
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
export function pinOf({ isPinned }: Pick<Resolution, 'isPinned'>, region: string): string | null {
  return isPinned ? region : null;
}

/** The refusal of a request that was not admitted. */
export function refusalOf(
  admission: Refused,
  pin: string | null,
  headers: Readonly<Record<string, string>>,
): Fault {
  if (admission.verdict === 'reused') return new Fault(CODES.reused, { headers });
  if (admission.verdict === 'budget') return budgetFault(admission, headers);
  const said = { headers, retryAfterMs: admission.retryMs };
  // No bucket is filled by anything but time.
  if (admission.verdict === 'rate') return new Fault(CODES.rate, { ...said, holdsUntilThen: true });
  const details = { ...said, hadNoRoom: true };
  if (admission.verdict === 'waiters') return new Fault(CODES.waiters, { ...details, ...WAITING });
  if (admission.verdict !== 'saturated') return new Fault(CODES[admission.verdict], details);
  return regionFault('saturated', pin, details);
}

function budgetFault(
  { budget, left, retryMs }: Extract<Refused, { verdict: 'budget' }>,
  headers: Readonly<Record<string, string>>,
): Fault {
  const { name, measure, until } = budget;
  const said = (steps: number): string => toExactDecimalString(fromSteps(measure, steps));
  return new Fault('budget_exceeded', {
    values: {
      name: named(name),
      limit: said(budget.limit),
      measure: budget.unit,
      left: said(left),
      amount: said(budget.amount),
      until: dateTime(until),
    },
    headers,
    retryAfterMs: Math.min(retryMs, HOUR_MS),
    hadNoRoom: true,
  });
}

export interface RecordDeps {
  admissions: Pick<Admissions, 'record'>;
  events: Pick<ApiEvents, 'storeFailed'>;
}

/**
 * Has the record of a request that screening has refused handed on, at the cost of an arrival. Returns the headers of the
 * refusal, which stands even when it cannot be recorded; then it has no receipt, and names none.
 * @throws Fault when its caller is over its rate: then the record is not made
 */
export async function recordRefusal(
  { admissions, events }: RecordDeps,
  { entry, isPaid }: Routed,
  { limits, keyLimit }: Credential,
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
