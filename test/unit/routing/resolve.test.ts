import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../shared/domain/errors.ts';
import type { Plan } from '../../../shared/domain/plan.ts';
import type { RegionHealth, RegionState } from '../../../shared/domain/routing/region-state.ts';
import { modelsFor, resolveRoute } from '../../../shared/domain/routing/resolve.ts';
import type { RouteRequest } from '../../../shared/domain/routing/resolve.ts';
import { indexCatalogue } from '../../../shared/domain/routing/route-index.ts';
import { catalogue, endpoint, model, region } from './catalogue.ts';

const index = indexCatalogue(
  catalogue(
    [
      region('eu'),
      region('us'),
      region('gone', { status: 'decommissioned' }),
      region('dedicated', { organisations: ['org_A'] }),
    ],
    [
      endpoint('eu-1', ['eu']),
      endpoint('eu-2', ['eu']),
      endpoint('us-1', ['us']),
      endpoint('own', ['dedicated']),
    ],
    [
      model('both', ['eu-2', 'eu-1', 'us-1']),
      model('eu-only', ['eu-1'], { maxN: 1 }),
      model('vectors', ['us-1'], { kinds: ['embedding'] }),
      model('costly', ['eu-1'], { plans: ['enterprise'] }),
      model('private', ['own'], { organisations: ['org_A', 'org_B'] }),
      model('plain', ['eu-1'], { tiers: ['audit'] }),
      model('hourly', ['eu-1'], { tiers: ['enterprise'] }),
    ],
  ),
);

const healthy: RegionHealth = { states: new Map(), openCircuits: new Set() };
const states = (entries: Record<string, RegionState>, open: string[] = []): RegionHealth => ({
  states: new Map(Object.entries(entries)),
  openCircuits: new Set(open),
});

const resolve = (
  request: Partial<RouteRequest>,
  {
    plan = 'enterprise',
    organisationId = 'org_A',
    health = healthy,
  }: { plan?: Plan; organisationId?: string; health?: RegionHealth } = {},
) =>
  resolveRoute(
    index,
    { model: 'both', kind: 'chat', ...request },
    { plan, organisationId },
    health,
  );

const codes = (...args: Parameters<typeof resolve>) =>
  resolve(...args).candidates.map((c) => c.region.code);

function faultOf(...args: Parameters<typeof resolve>): Fault {
  try {
    resolve(...args);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('was resolved');
}

describe('the model', () => {
  it.each([
    ['unknown', { model: 'nope' }, {}],
    ['a name of the prototype', { model: 'constructor' }, {}],
    ['of another kind than the route', { model: 'vectors' }, {}],
    ['not for the plan', { model: 'costly' }, { plan: 'audit' as const }],
    ['not for the organisation', { model: 'private' }, { organisationId: 'org_C' }],
    ['not offered in the pinned region', { model: 'eu-only', region: 'us' }, {}],
    [
      'offered only where the account may not go',
      { model: 'private' },
      { organisationId: 'org_B' },
    ],
  ])('that is %s is invalid_model with param model', (_why, request, account) => {
    expect(faultOf(request, account)).toMatchObject({
      code: 'invalid_model',
      param: 'model',
      status: 400,
    });
  });

  it('that is another customer’s is answered like one that does not exist', () => {
    expect(faultOf({ model: 'private' }, { organisationId: 'org_C' }).message).toBe(
      faultOf({ model: 'nope' }).message,
    );
  });

  it('that gives fewer choices than asked for is invalid_n, not one answer', () => {
    expect(faultOf({ model: 'eu-only', n: 2 })).toMatchObject({ code: 'invalid_n', param: 'n' });
    expect(resolve({ model: 'eu-only', n: 1 }).model.id).toBe('eu-only');
  });

  it('is listed only for accounts that may use it', () => {
    const ids = (plan: Plan, organisationId: string) =>
      modelsFor(index, { plan, organisationId }).map((routes) => routes.model.id);
    expect(ids('audit', 'org_C')).toEqual(['both', 'eu-only', 'vectors', 'plain', 'hourly']);
    expect(ids('enterprise', 'org_A')).toContain('private');
  });
});

describe('the region', () => {
  it('that does not exist is invalid_region', () => {
    expect(faultOf({ region: 'mars' })).toMatchObject({
      code: 'invalid_region',
      param: 'region',
      status: 400,
    });
    expect(faultOf({ regionHeader: 'mars' })).toMatchObject({
      code: 'invalid_region',
      param: 'region',
    });
    expect(faultOf({ region: '' }).code).toBe('invalid_region');
  });

  it('that differs between body and header is invalid_region', () => {
    expect(faultOf({ region: 'eu', regionHeader: 'us' }).code).toBe('invalid_region');
    expect(codes({ region: 'eu', regionHeader: 'eu' })).toEqual(['eu']);
    expect(codes({ region: null, regionHeader: 'us' })).toEqual(['us']);
  });

  it('of another organisation does not exist', () => {
    expect(faultOf({ model: 'both', region: 'dedicated' }, { organisationId: 'org_C' }).code).toBe(
      'invalid_region',
    );
    expect(codes({ model: 'private', region: 'dedicated' })).toEqual(['dedicated']);
  });

  it.each(['degraded', 'saturated', 'decommissioned'] as const)(
    'that is pinned and %s is a 503 of that name',
    (state) => {
      const fault = faultOf({ region: 'eu' }, { health: states({ eu: state }) });
      expect(fault).toMatchObject({
        code: `region_${state}`,
        status: 503,
        type: 'region_unavailable',
        param: null,
      });
      expect(fault.retryAfterMs).toBeGreaterThan(0);
    },
  );

  it('that is gone says so, whatever the model', () => {
    expect(faultOf({ region: 'gone' }).code).toBe('region_decommissioned');
    expect(
      faultOf({ region: 'us', model: 'eu-only' }, { health: states({ us: 'decommissioned' }) })
        .code,
    ).toBe('region_decommissioned');
  });

  it('with every endpoint of the model cut off is degraded; with one left it is not', () => {
    expect(faultOf({ region: 'eu' }, { health: states({}, ['eu-1', 'eu-2']) }).code).toBe(
      'region_degraded',
    );
    expect(codes({ region: 'eu' }, { health: states({}, ['eu-1']) })).toEqual(['eu']);
  });

  it('set to normal at run time overrides the catalogue', () => {
    const again = indexCatalogue(
      catalogue(
        [region('eu', { status: 'degraded' })],
        [endpoint('e', ['eu'])],
        [model('m', ['e'])],
      ),
    );
    const request = { model: 'm', kind: 'chat' } as const;
    const account = { plan: 'audit', organisationId: 'org_A' } as const;
    expect(() => resolveRoute(again, request, account, healthy)).toThrow(Fault);
    expect(resolveRoute(again, request, account, states({ eu: 'normal' })).candidates).toHaveLength(
      1,
    );
  });
});

describe('default routing', () => {
  it('takes healthy regions in the order of the catalogue, endpoints in the order of the model', () => {
    expect(codes({})).toEqual(['eu', 'us']);
    expect(resolve({}).candidates[0]?.endpoints.map((e) => e.endpoint.name)).toEqual([
      'eu-2',
      'eu-1',
    ]);
    expect(resolve({}).candidates[0]?.endpoints[0]?.model).toBe('up/both');
    expect(codes({}, { health: states({ eu: 'saturated' }) })).toEqual(['us']);
    expect(codes({}, { health: states({}, ['eu-1', 'eu-2']) })).toEqual(['us']);
  });

  it.each([
    [{ eu: 'saturated', us: 'degraded' }, 'region_saturated'],
    [{ eu: 'decommissioned', us: 'degraded' }, 'region_degraded'],
    [{ eu: 'decommissioned', us: 'decommissioned' }, 'region_decommissioned'],
  ] as const)('with no healthy region %j answers %s', (entries, code) => {
    expect(faultOf({}, { health: states(entries) }).code).toBe(code);
  });
});

describe('the tier', () => {
  it('defaults to the account’s plan, or the best below it that the route offers', () => {
    expect(resolve({}, { plan: 'audit_plus' }).tier).toBe('audit_plus');
    expect(resolve({ model: 'plain' }).tier).toBe('audit');
  });

  it('may be lower than the plan', () => {
    expect(resolve({ tier: 'audit' }).tier).toBe('audit');
  });

  it.each([
    ['unknown', { tier: 'gold' }, {}],
    ['degraded, which only the service gives', { tier: 'degraded' }, {}],
    ['above the plan', { tier: 'enterprise' }, { plan: 'audit' as const }],
    ['not offered on the route', { model: 'plain', tier: 'audit_plus' }, {}],
    ['none that the plan covers', { model: 'hourly' }, { plan: 'audit' as const }],
  ])('that is %s is invalid_tier', (_why, request, account) => {
    expect(faultOf(request, account)).toMatchObject({
      code: 'invalid_tier',
      param: 'tier',
      status: 400,
    });
  });

  it('is refused before an unhealthy region is', () => {
    expect(
      faultOf({ region: 'eu', tier: 'gold' }, { health: states({ eu: 'degraded' }) }).code,
    ).toBe('invalid_tier');
  });
});

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
    organisationId: fc.constantFrom('org_A', 'org_B', 'org_C'),
    health: fc.record({
      states: fc
        .dictionary(fc.constantFrom('eu', 'us', 'dedicated'), state)
        .map((d) => new Map(Object.entries(d))),
      openCircuits: fc.subarray(['eu-1', 'eu-2', 'us-1', 'own']).map((names) => new Set(names)),
    }),
  });

  it('never leaves its pinned region, and only goes where it is healthy', () => {
    let resolved = 0;
    fc.assert(
      fc.property(anyRequest, anyAccount, (request, account) => {
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
            endpoints.some(({ endpoint: e }) => !account.health.openCircuits.has(e.name)),
          ).toBe(true);
          expect(endpoints.every(({ endpoint: e }) => e.regions.includes(candidate.code))).toBe(
            true,
          );
        }
      }),
      { numRuns: 3000 },
    );
    expect(resolved).toBeGreaterThan(100);
  });
});
