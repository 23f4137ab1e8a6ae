import { describe, expect, it } from 'vitest';
import type { NewBudget } from '#shared/budgets/budget.ts';
import { createBudgetRegistry } from '#shared/budgets/postgres/budgets.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { OPERATOR } from '#test/support/accounts.ts';
import { chatBody, codeOf, post } from '#test/support/calls.ts';
import { expectRefusal } from '#test/support/envelope.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { joinProduct } from '#test/support/product.ts';
import { until } from '#test/support/until.ts';

const system = await joinProduct();

const BUDGET: NewBudget = {
  name: 'research',
  scope: 'organisation',
  target: null,
  measure: 'requests',
  period: 'month',
  mode: 'hard',
  limit: 5,
  shares: [],
};

describe('hard budgets [budgets.hard, codes.budget_exceeded]', () => {
  it('requests that race over processes and keys get no more than their budget, and are told when it begins anew', async () => {
    const org = await newOrganisation(system, {});
    const keys = [await org.newKey(), await org.newKey()];
    const budgets = createBudgetRegistry(system.database.pool, systemSurroundings);
    const budget = await budgets.make(org.id, BUDGET, OPERATOR);
    const ask = (i: number, body = chatBody({ max_tokens: 1 }), headers = {}) =>
      post(system, '/chat/completions', body, {
        key: keys[i % 2]!,
        baseUrl: system.baseUrls[i % system.baseUrls.length]!,
        headers,
      });
    const first = await ask(0, undefined, { 'idempotency-key': 'once' });
    expect(first.status).toBe(200);
    const text = await first.text();
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const response = await ask(i);
        return { status: response.status, headers: response.headers, text: await response.text() };
      }),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
    const refused = answers.find(({ status }) => status !== 200)!;
    expectRefusal(refused, 'budget_exceeded');
    expect(refused.text).toContain('of the budget “research”, 0 of 5 requests are left until');
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(3_600);
    // What was answered is given again, and costs nothing.
    const again = await ask(0, undefined, { 'idempotency-key': 'once' });
    expect(await again.text()).toBe(text);
    // What receipts say comes to the same.
    await until(async () => (await budgets.list(org.id))[0]!.used === 5);
    await budgets.end(org.id, budget.id, OPERATOR);
    await until(async () => (await ask(0)).status === 200);
  });

  it('tokens that a request did not use are given back when it has ended, and a request that could exceed what is left is refused', async () => {
    const org = await newOrganisation(system, {});
    const key = await org.newKey();
    const budgets = createBudgetRegistry(system.database.pool, systemSurroundings);
    const bounded = chatBody({ max_tokens: 4 });
    const held = Buffer.byteLength(JSON.stringify(bounded)) + 4;
    // Room for what two requests may use, which is several times what they use.
    const scope = { scope: 'model', target: 'llama-3.1-8b' } as const;
    const limit = 2 * held;
    await budgets.make(org.id, { ...BUDGET, ...scope, measure: 'tokens', limit }, OPERATOR);
    const ask = (body: object) => post(system, '/chat/completions', body, { key });
    for (const stream of [false, true, false]) {
      const response = await ask({ ...bounded, stream });
      expect(response.status).toBe(200);
      await response.text();
    }
    // Without a bound it might take more than is there.
    for (const bound of [{}, { max_output_tokens: 0.5 }, { max_output_tokens: -1e9 }]) {
      const unbounded = await ask({ ...chatBody(), max_tokens: null, ...bound });
      expect([unbounded.status, await codeOf(unbounded)]).toEqual([429, 'budget_exceeded']);
    }
    const other = await ask({ ...chatBody(), model: 'mixtral-8x7b' });
    expect(other.status).toBe(200);
    await other.text();
  });
});
