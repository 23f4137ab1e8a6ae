import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Model } from '#shared/catalogue/catalogue.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import { modelsFor, resolveRoute, type RouteAccount } from '#shared/catalogue/routing.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { forAll } from '#test/support/for-all.ts';
import { catalogue, endpoint, model, region } from './routed-catalogue.ts';
import { codes, faultOf, healthy, index, resolve, states } from './offer.ts';

describe('the model', () => {
  it.each([
    ['unknown', { model: 'nope' }, {}],
    ['a name of the prototype', { model: 'constructor' }, {}],
    ['of another kind than the route', { model: 'vectors' }, {}],
    ['not for the plan', { model: 'costly' }, { plan: 'audit' as const }],
    ['not for the organisation', { model: 'private' }, { orgId: 'org_C' }],
    ['not offered in the pinned region', { model: 'eu-only', region: 'us' }, {}],
    ['offered only where the account may not go', { model: 'private' }, { orgId: 'org_B' }],
  ])(
    'refuses a model that is %s with invalid_model and its param [codes.invalid_model]',
    (_why, request, account) => {
      expect(faultOf(request, account)).toMatchObject({
        code: 'invalid_model',
        param: 'model',
        status: 400,
      });
    },
  );

  it('is found by its aliases, which are in no list, and only by who may use it [requests.alias]', () => {
    const named = (over: Partial<Model> = {}) =>
      indexCatalogue(
        catalogue(
          [region('eu')],
          [endpoint('a', ['eu'])],
          [model('own', ['a'], { aliases: ['gpt-4o', 'a/b'], ...over }), model('other', ['a'])],
        ),
      );
    const account = {
      orgId: 'org_A',
      plan: 'enterprise',
      allowedRegions: null,
      allowedModels: null,
    } as const;
    const ask = (name: string, of = named(), who: RouteAccount = account) =>
      resolveRoute(of, { model: name, kind: 'chat' }, who, healthy).model.id;
    expect(['own', 'gpt-4o', 'a/b', 'other'].map((name) => ask(name))).toEqual([
      'own',
      'own',
      'own',
      'other',
    ]);
    expect(modelsFor(named(), account).map((routes) => routes.model.id)).toEqual(['own', 'other']);
    expect(() => ask('gpt-4o', named({ organisations: ['org_B'] }))).toThrow(Fault);
    expect(() => ask('gpt-4o', named(), { ...account, allowedModels: ['other'] })).toThrow(
      'leave out the model own',
    );
  });

  it('answers for another customer’s model as for one that does not exist', () => {
    const account = { orgId: 'org_C' };
    const { message } = faultOf({ model: 'private' }, account);
    expect(message).toBe(faultOf({ model: 'nope' }, account).message);
    expect(message).toMatch(/It may use both, eu-only, costly, plain and hourly\.$/);
    expect(faultOf({ model: 'nope' }).message).toMatch(/ and 1 more \(GET \/v1\/models\)\.$/);
    expect(faultOf({ model: 'nope', kind: 'embedding' }, account).message).toMatch(
      /It may use vectors and short-vectors\.$/,
    );
  });

  it('that gives fewer choices than asked for is invalid_n, not one answer [requests.n]', () => {
    expect(faultOf({ model: 'eu-only', n: 2 })).toMatchObject({ code: 'invalid_n', param: 'n' });
    expect(faultOf({ model: 'eu-only', bestOf: 2 })).toMatchObject({
      code: 'invalid_n',
      param: 'best_of',
    });
    expect(resolve({ model: 'eu-only', n: 1 }).model.id).toBe('eu-only');
  });

  it('takes the choices of all its prompts together as the work of one request, up to 128 texts [requests.n]', () => {
    expect(resolve({ model: 'both', n: 2, prompts: 64 }).model.id).toBe('both');
    expect(resolve({ model: 'both', n: 1, prompts: 128 }).model.id).toBe('both');
    expect(faultOf({ model: 'both', n: 2, prompts: 65 })).toMatchObject({
      code: 'invalid_n',
      param: 'n',
      message: '2 for each of 65 prompts are 130 texts, and one request is for 128 at most.',
    });
    const best = { model: 'both', n: 1, bestOf: 2, prompts: 128 };
    expect(faultOf(best)).toMatchObject({ code: 'invalid_n', param: 'best_of' });
  });

  it('takes as many tools as its catalogue entry says, and any number where that says nothing', () => {
    const tools = (count: number, field: 'tools' | 'functions' = 'tools') => ({
      model: 'eu-only',
      tools: { field, count },
    });
    expect(faultOf(tools(3))).toMatchObject({
      code: 'invalid_tools',
      param: 'tools',
      message: 'Tools in this request: 3; the model eu-only takes at most 2.',
    });
    expect(faultOf(tools(3, 'functions'))).toMatchObject({ code: 'invalid_functions' });
    expect(resolve(tools(2)).model.id).toBe('eu-only');
    expect(resolve({ ...tools(5_000), model: 'both' }).model.id).toBe('both');
  });

  it.each([
    ['undeclared', {}, 1_024],
    ['declared', { model: 'short-vectors' }, 2_048],
    ['asked for', { model: 'short-vectors', dimensions: 3_072 }, 1_365],
  ] as const)(
    'takes as many inputs as an answer holds values for: with %s dimensions [limits.answers]',
    (_which, asked, most) => {
      const { dimensions, ...of }: { model?: string; dimensions?: number } = asked;
      const request = (inputs: number) =>
        ({
          model: 'vectors',
          ...of,
          kind: 'embedding',
          embeddings: { inputs, dimensions },
        }) as const;
      expect(resolve(request(most)).model.kinds).toEqual(['embedding']);
      expect(faultOf(request(most + 1))).toMatchObject({
        code: 'invalid_input',
        param: 'input',
        message: expect.stringMatching(
          new RegExp(`4,194,304 values.* at most ${most.toLocaleString('en-US')} entries`),
        ) as unknown,
      });
    },
  );

  it('lists a model only for accounts that may use it', () => {
    const ids = (plan: Plan, orgId: string) =>
      modelsFor(index, { plan, orgId, allowedRegions: null, allowedModels: null }).map(
        (routes) => routes.model.id,
      );
    expect(ids('audit', 'org_C')).toEqual([
      'both',
      'eu-only',
      'vectors',
      'short-vectors',
      'plain',
      'hourly',
    ]);
    expect(ids('enterprise', 'org_A')).toContain('private');
  });
});

describe('what an organisation has chosen', () => {
  it('refuses a model and a region that its settings leave out, by name; what others have alone stays unknown [dashboard.settings]', () => {
    const chosen = { allowedRegions: ['us'], allowedModels: ['both'] };
    expect(codes({}, chosen)).toEqual(['us']);
    expect(codes({ region: 'us' }, chosen)).toEqual(['us']);
    expect(faultOf({ region: 'eu' }, chosen)).toMatchObject({
      code: 'invalid_region',
      param: 'region',
      message: expect.stringContaining('settings of your organisation') as unknown,
    });
    expect(faultOf({ model: 'eu-only' }, chosen)).toMatchObject({
      code: 'invalid_model',
      param: 'model',
      message: expect.stringContaining('settings of your organisation') as unknown,
    });
    const other = { ...chosen, orgId: 'org_C', allowedModels: ['private'] };
    expect(faultOf({ model: 'private' }, other).message).toBe(
      faultOf({ model: 'made-up' }, other).message,
    );
  });

  it('never runs a request in a region that is left out, however regions are and with any other settings [dashboard.settings]', () => {
    forAll(
      [
        fc.option(fc.subarray(['eu', 'us', 'dedicated', 'gone', 'none'], { minLength: 1 })),
        fc.option(fc.subarray(['both', 'eu-only', 'private', 'vectors'], { minLength: 1 })),
        fc.constantFrom('both', 'eu-only', 'private', 'plain'),
        fc.option(fc.constantFrom('eu', 'us', 'dedicated')),
        fc.subarray(['eu', 'us']),
      ],
      (allowedRegions, allowedModels, asked, pin, degraded) => {
        const health = states(Object.fromEntries(degraded.map((code) => [code, 'degraded'])));
        let candidates: string[] = [];
        try {
          candidates = codes(
            { model: asked, region: pin },
            { allowedRegions, allowedModels, health },
          );
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
          return;
        }
        expect(candidates.every((code) => allowedRegions?.includes(code) ?? true)).toBe(true);
        expect(allowedModels?.includes(asked) ?? true).toBe(true);
      },
    );
  });
});

describe('the region', () => {
  it('refuses a region that does not exist with invalid_region [codes.invalid_region]', () => {
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

  it('refuses different regions in body and header with invalid_region', () => {
    expect(faultOf({ region: 'eu', regionHeader: 'us' }).code).toBe('invalid_region');
    expect(codes({ region: 'eu', regionHeader: 'eu' })).toEqual(['eu']);
    expect(codes({ region: null, regionHeader: 'us' })).toEqual(['us']);
  });

  it('answers for a region of another organisation as for one that does not exist', () => {
    expect(faultOf({ model: 'both', region: 'dedicated' }, { orgId: 'org_C' }).code).toBe(
      'invalid_region',
    );
    expect(codes({ model: 'private', region: 'dedicated' })).toEqual(['dedicated']);
  });

  it.each(['degraded', 'saturated', 'decommissioned'] as const)(
    'answers for a pinned region that is %s with a 503 of that name',
    (state) => {
      const fault = faultOf({ region: 'eu' }, { health: states({ eu: state }) });
      expect(fault).toMatchObject({
        code: `region_${state}`,
        status: 503,
        type: 'region_unavailable',
        param: null,
      });
      // A region that is no longer offered does not come back within a wait.
      if (state === 'decommissioned') expect(fault.retryAfterMs).toBeUndefined();
      else expect(fault.retryAfterMs).toBeGreaterThan(0);
    },
  );

  it('says that a decommissioned region is gone, also for a model that it never offered [codes.region_decommissioned]', () => {
    expect(faultOf({ region: 'gone' }).code).toBe('region_decommissioned');
    expect(
      faultOf({ region: 'us', model: 'eu-only' }, { health: states({ us: 'decommissioned' }) })
        .code,
    ).toBe('region_decommissioned');
  });

  it('treats a region as degraded when every endpoint of the model is cut off, and not while one is left', () => {
    expect(faultOf({ region: 'eu' }, { health: states({}, ['eu eu-1', 'eu eu-2']) }).code).toBe(
      'region_degraded',
    );
    expect(codes({ region: 'eu' }, { health: states({}, ['eu eu-1']) })).toEqual(['eu']);
  });

  it('keeps a region healthy whose endpoint is cut off from another region only', () => {
    expect(codes({ region: 'eu' }, { health: states({}, ['us eu-1', 'us eu-2']) })).toEqual(['eu']);
  });

  it('lets a status that is set at run time override the catalogue', () => {
    const again = indexCatalogue(
      catalogue(
        [region('eu', { status: 'degraded' })],
        [endpoint('e', ['eu'])],
        [model('m', ['e'])],
      ),
    );
    const request = { model: 'm', kind: 'chat' } as const;
    const account = {
      plan: 'audit',
      orgId: 'org_A',
      allowedRegions: null,
      allowedModels: null,
    } as const;
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
    expect(codes({}, { health: states({}, ['eu eu-1', 'eu eu-2']) })).toEqual(['us']);
  });

  it.each([
    [{ eu: 'saturated', us: 'degraded' }, 'region_saturated'],
    [{ eu: 'decommissioned', us: 'degraded' }, 'region_degraded'],
    [{ eu: 'decommissioned', us: 'decommissioned' }, 'region_decommissioned'],
  ] as const)(
    'answers default routing with no healthy region %j by %s, and names none',
    (entries, code) => {
      const fault = faultOf({}, { health: states(entries) });
      expect(fault.code).toBe(code);
      expect(fault.message).not.toMatch(/\b(eu|us)\b/);
    },
  );
});

describe('the tier', () => {
  it('gives the tier of the account’s plan by default, or the best below it that the route offers', () => {
    expect(resolve({}, { plan: 'audit_plus' }).tier).toBe('audit_plus');
    expect(resolve({ model: 'plain' }).tier).toBe('audit');
  });

  it('gives a tier below the plan when it is asked for [operations.tier]', () => {
    expect(resolve({ tier: 'audit' }).tier).toBe('audit');
  });

  it.each([
    ['unknown', { tier: 'gold' }, {}],
    ['degraded, which only the service gives', { tier: 'degraded' }, {}],
    ['above the plan', { tier: 'enterprise' }, { plan: 'audit' as const }],
    ['not offered on the route', { model: 'plain', tier: 'audit_plus' }, {}],
    ['none that the plan covers', { model: 'hourly' }, { plan: 'audit' as const }],
  ])(
    'refuses a tier that is %s with invalid_tier [operations.tier, codes.invalid_tier]',
    (_why, request, account) => {
      expect(faultOf(request, account)).toMatchObject({
        code: 'invalid_tier',
        param: 'tier',
        status: 400,
      });
    },
  );

  it('refuses a tier before it looks at the health of the region', () => {
    expect(
      faultOf({ region: 'eu', tier: 'gold' }, { health: states({ eu: 'degraded' }) }).code,
    ).toBe('invalid_tier');
  });
});

describe('a region that only its open circuits keep closed', () => {
  const CUT_OFF = ['eu eu-1', 'eu eu-2', 'us us-1'];
  /** The circuits of these endpoints are due for a trial, which one request may take. */
  const due = (names: string[], entries: Parameters<typeof states>[0] = {}) => {
    const left = new Set(names);
    return { ...states(entries, CUT_OFF), takeTrial: (name: string) => left.delete(name) };
  };

  it('lets one pinned request through when a trial is due, and refuses the next', () => {
    const health = due(['eu eu-1']);
    expect(resolve({ region: 'eu' }, { health }).candidates).toHaveLength(1);
    expect(faultOf({ region: 'eu' }, { health }).code).toBe('region_degraded');
  });

  it('lets one request through that is not pinned where no region is healthy', () => {
    const health = due(['us us-1']);
    expect(codes({}, { health })).toEqual(['us']);
    expect(faultOf({}, { health }).code).toBe('region_degraded');
  });

  it('is not tried by requests that can go elsewhere, and costs no trial', () => {
    const health = { ...due(['eu eu-1']), openCircuits: new Set(['eu eu-1', 'eu eu-2']) };
    expect(codes({}, { health })).toEqual(['us']);
    expect(resolve({ region: 'eu' }, { health }).candidates).toHaveLength(1);
  });

  it('is tried by one request that could go elsewhere when something answers there, if it is preferred to what is healthy', () => {
    const open = { openCircuits: new Set(['eu eu-1', 'eu eu-2']), reached: new Set(['eu eu-1']) };
    const health = { ...due(['eu eu-1']), ...open };
    expect(codes({}, { health })).toEqual(['eu', 'us']);
    expect(codes({}, { health })).toEqual(['us']);
    const last = { openCircuits: new Set(['us us-1']), reached: new Set(['us us-1']) };
    expect(codes({}, { health: { ...due(['us us-1']), ...last } })).toEqual(['eu']);
  });

  it('is not tried when an operator has closed it', () => {
    const health = due(['eu eu-1'], { eu: 'degraded' });
    expect(faultOf({ region: 'eu' }, { health }).code).toBe('region_degraded');
  });
});
