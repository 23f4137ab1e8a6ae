import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { ModelObject, modelObject } from '#api/openai/models.ts';
import type { Model } from '#shared/catalogue/catalogue.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { catalogue, endpoint, model, region } from '#test/unit/catalogue/routed-catalogue.ts';

const regions = [
  region('eu'),
  region('gone', { status: 'decommissioned' }),
  region('own', { organisations: ['org_A'] }),
];
const routesOf = (over: Partial<Model>) =>
  indexCatalogue(
    catalogue(regions, [endpoint('e', ['eu', 'gone', 'own'])], [model('acme/m', ['e'], over)]),
  ).models.get('acme/m')!;
const account = {
  plan: 'audit_plus',
  orgId: 'org_B',
  allowedRegions: null,
  allowedModels: null,
  keepResponses: false,
  tags: [],
  budgets: [],
} as const;
const published = () => 'published';

describe('modelObject', () => {
  it('a model has the shapes that clients of OpenAI and of Anthropic expect, with the facts of the catalogue', () => {
    const object = modelObject(routesOf({ footprint: { ref: 'r' } }), account, published);
    expect(object).toEqual({
      id: 'acme/m',
      object: 'model',
      type: 'model',
      display_name: 'acme/m',
      created_at: '1970-01-01T00:00:00.000Z',
      created: 0,
      owned_by: 'example',
      context_window: 4096,
      modalities: ['text'],
      kinds: ['chat'],
      aliases: [],
      architecture: { input_modalities: ['text'], output_modalities: ['text'] },
      max_n: 8,
      regions: ['eu'],
      tiers: ['audit', 'audit_plus'],
      footprint: { source: 'factor_set', confidence: 'published' },
    });
    expect(Value.Check(ModelObject, object)).toBe(true);
  });

  it('a model that only embeds says so in the words by which pickers leave it out of their chats', () => {
    const object = modelObject(routesOf({ kinds: ['embedding'], aliases: ['e'] }), account);
    expect(object).toMatchObject({
      aliases: ['e'],
      architecture: { output_modalities: ['embeddings'] },
    });
  });

  it('a dedicated region is shown only to its organisation, and one that is gone to none', () => {
    const mine = { ...account, orgId: 'org_A' };
    expect(modelObject(routesOf({}), mine, published).regions).toEqual(['eu', 'own']);
  });

  it('a model says when its size is declared, unknown, or of a record that is missing', () => {
    const footprint = (value: Model['footprint']) =>
      modelObject(routesOf({ footprint: value }), account, () => undefined).footprint;
    expect(footprint({ activeB: 1, totalB: 1 })).toEqual({ source: 'declared', confidence: null });
    expect(footprint({})).toEqual({ source: 'none', confidence: null });
    expect(footprint({ ref: 'x' })).toEqual({ source: 'factor_set', confidence: null });
  });
});
