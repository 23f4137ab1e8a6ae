import { beforeEach, describe, expect, it } from 'vitest';
import type { OrganisationRole } from '#shared/persons/roles.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { openDashboardEdge, PASSWORD, type TestBrowser } from '#test/support/dashboard.ts';
import { index } from '#test/unit/catalogue/offer.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { dashboard, errors, newVisitor } = await openDashboardEdge(database, undefined, { index });

let org = '';
let page = '';
let owner: TestBrowser;

const signedIn = (role: OrganisationRole): Promise<TestBrowser> =>
  newVisitor({ kind: 'organisation', orgId: org, role });
const BUDGET = {
  of: 'organisation',
  measure: 'tokens',
  period: 'month',
  mode: 'soft',
  name: 'Research <b>',
  amount: '1 000,000',
  shares: '80 %, 50',
};
const words = (text: string): string => text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

beforeEach(async () => {
  org = (await activeAccount(registries)).id;
  page = `/dashboard/${org}/budgets`;
  owner = await signedIn('owner');
  errors.length = 0;
});

describe('the page of budgets [budgets.page]', () => {
  it('an owner makes, changes and ends one; who only reads sees it, and its forms are refused', async () => {
    const { key } = await registries.keys.issue(org, { name: 'Batch' }, OPERATOR);
    expect((await owner.get(page)).payload).toContain('No budgets');
    const made = await owner.send(page, `${page}/make`, BUDGET);
    expect(made.headers.location).toBe(`${page}?done=made`);
    await owner.send(page, `${page}/make`, {
      ...BUDGET,
      of: `key ${key.id}`,
      measure: 'gwp',
      amount: '0.5',
    });
    const [first, second] = await dashboard.budgets.list(org);
    expect(first).toMatchObject({ limit: 1_000_000, shares: [50, 80], scope: 'organisation' });
    expect(second).toMatchObject({ limit: 0.5, measure: 'gwp', target: key.id });
    const member = await signedIn('member');
    const seen = await member.get(page);
    expect(words(seen.payload)).toContain('Research &#60;b&#62;');
    expect(words(seen.payload)).toMatch(/0 of 1 000 000 tokens.*0 of 500 g CO₂e/);
    expect(seen.payload).not.toContain('Make a budget');
    const refused = await member.send('/dashboard/account', `${page}/${first!.id}/end`, {});
    expect(refused.statusCode).toBe(403);
    await owner.send(page, `${page}/${first!.id}/change`, { ...BUDGET, amount: '5' });
    await owner.send(page, `${page}/${second!.id}/end`, {});
    expect(await dashboard.budgets.list(org)).toMatchObject([{ id: first!.id, limit: 5 }]);
    expect(errors).toEqual([]);
  });

  it('what cannot be taken is said with what was typed, and nothing is saved', async () => {
    const again = await owner.send(page, `${page}/make`, { ...BUDGET, amount: 'much' });
    expect(again.statusCode).toBe(400);
    expect(again.payload).toContain('A limit of tokens must be a whole number');
    expect(again.payload).toContain('value="much"');
    expect(
      (await owner.send(page, `${page}/make`, { ...BUDGET, of: 'key key_x' })).statusCode,
    ).toBe(400);
    expect(
      (await owner.send(page, `${page}/make`, { ...BUDGET, measure: 'water' })).statusCode,
    ).toBe(400);
    expect((await owner.send(page, `${page}/bgt_x/end`, {})).statusCode).toBe(404);
    expect(await dashboard.budgets.list(org)).toEqual([]);
  });

  it('to loosen or end a budget that refuses asks for the password; to tighten one does not [dashboard.step-up]', async () => {
    await owner.send(page, `${page}/make`, { ...BUDGET, mode: 'hard', amount: '100' });
    await database.pool.query(
      `update persons.session set confirmed_at = now() - interval '1 hour'`,
    );
    const { id } = (await dashboard.budgets.list(org))[0]!;
    const change = (more: object) =>
      owner.send(page, `${page}/${id}/change`, {
        ...BUDGET,
        mode: 'hard',
        amount: '100',
        ...more,
      });
    expect((await change({ amount: '90' })).statusCode).toBe(303);
    expect((await change({ amount: '91' })).payload).toContain('Confirm that it is you');
    expect((await change({ mode: 'soft' })).statusCode).toBe(403);
    expect((await owner.send(page, `${page}/${id}/end`, {})).statusCode).toBe(403);
    expect(await dashboard.budgets.list(org)).toMatchObject([{ limit: 90, mode: 'hard' }]);
    const confirmed = await change({ amount: '91', 'confirming-password': PASSWORD });
    expect(confirmed.statusCode).toBe(303);
  });
});
