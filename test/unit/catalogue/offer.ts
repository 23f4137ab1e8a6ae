import { Fault } from '#shared/kernel/errors.ts';
import type { RegionHealth, RegionState } from '#shared/catalogue/routing.ts';
import { resolveRoute } from '#shared/catalogue/routing.ts';
import type { RouteAccount, RouteRequest } from '#shared/catalogue/routing.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { thrownBy } from '#test/support/thrown-by.ts';
import { catalogue, endpoint, model, region } from './routed-catalogue.ts';

/** A small offer in which every rule of routing has a case. */
export const index = indexCatalogue(
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
      model('eu-only', ['eu-1'], { maxN: 1, maxTools: 2 }),
      model('vectors', ['us-1'], { kinds: ['embedding'] }),
      model('short-vectors', ['us-1'], { kinds: ['embedding'], dimensions: 2_048 }),
      model('costly', ['eu-1'], { plans: ['enterprise'] }),
      model('private', ['own'], { organisations: ['org_A', 'org_B'] }),
      model('plain', ['eu-1'], { tiers: ['audit'] }),
      model('hourly', ['eu-1'], { tiers: ['enterprise'] }),
    ],
  ),
);

export const healthy: RegionHealth = { states: new Map(), openCircuits: new Set() };
export const states = (
  entries: Record<string, RegionState>,
  open: string[] = [],
): RegionHealth => ({
  states: new Map(Object.entries(entries)),
  openCircuits: new Set(open),
});

export const resolve = (
  request: Partial<RouteRequest>,
  {
    plan = 'enterprise',
    orgId = 'org_A',
    health = healthy,
    allowedRegions = null,
    allowedModels = null,
  }: Partial<RouteAccount> & { health?: RegionHealth } = {},
) =>
  resolveRoute(
    index,
    { model: 'both', kind: 'chat', ...request },
    { plan, orgId, allowedRegions, allowedModels },
    health,
  );

export const codes = (...args: Parameters<typeof resolve>) =>
  resolve(...args).candidates.map((c) => c.region.code);

export const faultOf = (...args: Parameters<typeof resolve>): Fault =>
  thrownBy(Fault, () => resolve(...args))!;
