import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '#shared/kernel/errors.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import type { RegionState } from '#shared/catalogue/routing.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { resolve } from './offer.ts';

const RUNS = runs(3_000);

describe('any request', () => {
  const state = fc.constantFrom<RegionState>(
    'normal',
    'normal',
    'normal',
    'degraded',
    'saturated',
    'decommissioned',
  );
  const anyRequest = fc.record({
    model: fc.oneof(
      { weight: 3, arbitrary: fc.constant('both') },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          'eu-only',
          'vectors',
          'costly',
          'private',
          'plain',
          'hourly',
          'nope',
        ),
      },
    ),
    region: fc.constantFrom('eu', 'us', 'gone', 'dedicated', 'mars', null, null, null),
    regionHeader: fc.constantFrom('eu', 'us', null, null, null, null, null),
    tier: fc.constantFrom('audit', 'audit_plus', 'enterprise', 'gold', null, null, null, null),
    n: fc.constantFrom(1, 2, null),
  });
  const anyAccount = fc.record({
    plan: fc.constantFrom<Plan>('audit', 'audit_plus', 'enterprise'),
    orgId: fc.constantFrom('org_A', 'org_B', 'org_C'),
    health: fc.record({
      states: fc
        .dictionary(fc.constantFrom('eu', 'us', 'dedicated'), state)
        .map((d) => new Map(Object.entries(d))),
      openCircuits: fc
        .subarray(['eu eu-1', 'eu eu-2', 'us us-1', 'dedicated own'])
        .map((names) => new Set(names)),
    }),
  });

  it('never leaves its pinned region, and only goes where it is healthy [operations.region]', () => {
    let resolved = 0;
    forAll([anyRequest, anyAccount], { numRuns: RUNS }, (request, account) => {
      let result: ReturnType<typeof resolve>;
      try {
        result = resolve(request, account);
      } catch (error) {
        expect(error).toBeInstanceOf(Fault);
        return;
      }
      resolved += 1;
      const pin = request.region ?? request.regionHeader;
      expect(result.candidates.length).toBeGreaterThan(0);
      for (const { region: candidate, endpoints } of result.candidates) {
        if (pin !== null) expect(candidate.code).toBe(pin);
        expect(account.health.states.get(candidate.code) ?? candidate.status).toBe('normal');
        expect(
          endpoints.some(
            ({ endpoint: e }) => !account.health.openCircuits.has(`${candidate.code} ${e.name}`),
          ),
        ).toBe(true);
        expect(endpoints.every(({ endpoint: e }) => e.regions.includes(candidate.code))).toBe(true);
      }
    });
    expect(resolved).toBeGreaterThan(RUNS / 30);
  });
});
