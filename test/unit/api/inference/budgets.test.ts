import { expect, it } from 'vitest';
import {
  type Extent,
  inTurns,
  mostOf,
  partsOf,
  tokensBound,
} from '#api/inference/admit/budgets.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { Measurement } from '#shared/methodology/measurement.ts';
import type { HardBudget } from '#shared/keys/credential.ts';

const MODEL = { contextWindow: 10_000 };
const EXTENT = { answers: 2, answerTokensMax: 50, readsMore: false, bodyBytes: 300 };

it('a request may use the bytes of its body and the tokens of its answers, each at most the window; without a bound 4,096 are assumed [budgets.hard]', () => {
  const bound = (extent: Extent): number => {
    const { input, output } = tokensBound(extent, MODEL);
    return input + output;
  };
  expect(bound(EXTENT)).toBe(400);
  expect(bound({ ...EXTENT, answerTokensMax: null })).toBe(300 + 2 * 4_096);
  expect(bound({ ...EXTENT, answerTokensMax: 1e9 })).toBe(300 + 2 * 10_000);
  // A picture is more tokens than its address has bytes.
  expect(bound({ ...EXTENT, readsMore: true })).toBe(10_100);
  expect(bound({ ...EXTENT, bodyBytes: undefined })).toBe(10_100);
  expect(bound({ ...EXTENT, bodyBytes: 1e9, answers: 0 })).toBe(10_000);
});

it('a request falls under the budgets of its model, of its tags and those of all, in the period of its id [budgets.hard]', () => {
  const budget = (more: Partial<HardBudget>): HardBudget => ({
    id: 'bgt_all',
    name: 'all',
    period: 'day',
    measure: 'requests',
    limit: 5,
    currency: null,
    model: null,
    tag: null,
    ...more,
  });
  const at = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
  const parts = partsOf(
    [
      budget({}),
      budget({ id: 'bgt_own', model: 'm', measure: 'tokens', period: 'month' }),
      budget({ model: 'other' }),
      budget({ id: 'bgt_tag', tag: 'team=a' }),
      budget({ tag: 'team=b' }),
    ],
    { id: newId('req', at), model: 'm', tags: ['run=b', 'team=a'] },
    (measure) => (measure === 'requests' ? 1 : 70),
  );
  expect(parts).toMatchObject([
    { budget: 'bgt_all', amount: 1, since: Date.UTC(2026, 10, 30), until: Date.UTC(2026, 11, 1) },
    { budget: 'bgt_own', amount: 70, since: Date.UTC(2026, 10, 1), until: Date.UTC(2026, 11, 1) },
    { budget: 'bgt_tag', amount: 1 },
  ]);
  expect(
    partsOf([budget({ tag: 'team=a' })], { id: newId('req', at), model: 'm' }, () => 70),
  ).toEqual([]);
});

it('a request may cost what its most tokens cost where they are dearest, and take what a receipt of as many would state [budgets.hard]', () => {
  const place = (code: string) => ({ region: { code, zone: code, operator: { name: 'o' } } });
  const price = { from: 0, input: 2_000_000, cachedInput: 0, output: 10_000_000 };
  const model = {
    id: 'm',
    contextWindow: 10_000,
    footprint: {},
    prices: [price, { ...price, region: 'fra', output: 20_000_000 }],
  };
  const asked = {
    entry: { id: newId('req', 1_000), route: 'chat.completions' },
    extent: EXTENT,
    resolution: { model, candidates: [place('swe'), place('fra')] },
  } as unknown as Parameters<typeof mostOf>[0];
  let estimates = 0;
  const most = mostOf(asked, ({ zone, usage: { inputTokens, outputTokens } }) => {
    estimates += 1;
    if (zone === 'swe') throw new Error('has no size');
    const results = [{ name: 'gwp', value: inputTokens + 10 * outputTokens }];
    return { results } as unknown as Measurement;
  });
  expect(most('tokens')).toBe(400);
  expect(most('money')).toBeCloseTo((300 * 2 + 100 * 20) / 1e6, 12);
  expect(most('gwp')).toBe(1_300);
  expect(most('energy')).toBe(0);
  // Twenty budgets ask for the same.
  expect([most('gwp'), most('energy'), estimates]).toEqual([1_300, 0, 4]);
});

it('sums of many budgets of one organisation are read one after the other, and those of another between them [budgets.hard]', async () => {
  const inside: string[] = [];
  const read: string[] = [];
  let [mostOfOne, mostOfAll] = [0, 0];
  const count = inTurns(async ({ orgId }: { orgId: string }) => {
    inside.push(orgId);
    mostOfAll = Math.max(mostOfAll, inside.length);
    mostOfOne = Math.max(mostOfOne, inside.filter((one) => one === orgId).length);
    await new Promise(setImmediate);
    inside.splice(inside.indexOf(orgId), 1);
    return read.push(orgId);
  });
  const asked = [...Array.from({ length: 20 }, () => 'org_a'), 'org_b', 'org_c'];
  await Promise.all(asked.map((orgId) => count({ orgId })));
  expect([mostOfOne, mostOfAll]).toEqual([1, 2]);
  expect(read.slice(0, 4)).toEqual(expect.arrayContaining(['org_b', 'org_c']));
});
