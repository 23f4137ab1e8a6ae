import { expect, it } from 'vitest';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';

it.each([
  ['audit', 50, 200, 100_000, 20],
  ['audit_plus', 200, 800, 400_000, 100],
] as const)(
  'has the numbers of the specification: %s [limits.audit-plus]',
  (plan, rate, burst, day, streams) => {
    expect(PLAN_LIMITS[plan]).toEqual({
      requestsPerSecond: rate,
      burst,
      requestsPerDay: day,
      concurrentStreams: streams,
    });
  },
);
