import { beforeEach, describe, expect, it } from 'vitest';
import type { NewBudget } from '#shared/budgets/budget.ts';
import { createBudgetRegistry } from '#shared/budgets/postgres/budgets.ts';
import { tellReached } from '#shared/budgets/postgres/told.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { newPerson } from '#test/support/dashboard.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
} from '#test/support/issuing.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const budgets = createBudgetRegistry(database.poolAs('docket_api'), systemSurroundings);
const { signer } = makeReceiptSigner();
const pools = receiptPools(database);
const housekeeping = database.poolAs('docket_housekeeping');
const BUDGET: NewBudget = {
  name: 'Research',
  scope: 'organisation',
  target: null,
  measure: 'requests',
  period: 'day',
  mode: 'soft',
  limit: 4,
  shares: [25, 50, 100],
};
let orgId = '';
let owner = '';
beforeEach(async () => {
  const account = await activeAccount(registries);
  orgId = account.id;
  const place = { kind: 'organisation', orgId, role: 'owner' } as const;
  owner = (await newPerson(database.pool, [place])).email;
  await database.pool.query('delete from mail_outbox where org_id = $1', [orgId]);
});
const use = (requests: number, tags?: string[]) =>
  issueReceipts(
    pools,
    signer,
    Array.from({ length: requests }, () =>
      inferenceRecord({ orgId, requestId: newId('req'), ...(tags && { tags }) }),
    ),
  );
const tell = (limit = 100) =>
  tellReached(housekeeping, systemSurroundings, { limit, grownWithinS: null });
const letters = async (): Promise<{ recipient: string; subject: string; body: string }[]> =>
  (
    await database.pool.query<{ recipient: string; subject: string; body: string }>(
      'select recipient, subject, body from mail_outbox where org_id = $1 order by id',
      [orgId],
    )
  ).rows;

describe('shares of budgets [budgets.told]', () => {
  it('a budget of a tag tells of it by its name [tags.budgets]', async () => {
    await registries.accounts.setTags(orgId, ['team'], OPERATOR);
    await budgets.make(orgId, { ...BUDGET, scope: 'tag', target: 'team=a' }, OPERATOR);
    await use(4);
    await use(1, ['team=b']);
    await tell();
    expect(await letters()).toEqual([]);
    await use(2, ['team=a']);
    await tell();
    expect((await letters())[0]!.body).toContain('requests with the tag team=a');
  });

  it('a share that is reached is told once, the highest of several, to whom letters of keys go and to owners', async () => {
    await budgets.make(orgId, BUDGET, OPERATOR);
    await tell();
    expect(await letters()).toEqual([]);
    await use(2);
    await Promise.all([tell(), tell()]);
    const first = await letters();
    expect(first.filter(({ recipient }) => recipient === owner)).toHaveLength(1);
    expect(first.every(({ subject }) => subject === 'Budget “Research”: 50 % is reached')).toBe(
      true,
    );
    expect(first[0]!.body).toContain('2 of 4 requests are used');
    expect(first[0]!.body).toContain('Nothing is refused by it.');
    await tell();
    expect(await letters()).toHaveLength(first.length);
    await use(2);
    await tell();
    expect((await letters()).at(-1)!.subject).toContain('100 % is reached');
    const [listed] = await budgets.list(orgId);
    expect(listed!.told.map(({ share, letters: many }) => [share, many])).toEqual(
      [25, 50, 100].map((share) => [share, first.length]),
    );
  });

  it('where an hour’s e-mails are sent already it is told later, and nothing says that it was', async () => {
    await budgets.make(orgId, BUDGET, OPERATOR);
    await use(1);
    await database.pool.query(
      `insert into mail_outbox (org_id, recipient, subject, body, created_at, next_attempt_at)
       select $1, 'x@' || i || '.example', '', '', now(), now() from generate_series(1, 60) i`,
      [orgId],
    );
    await tell();
    expect((await budgets.list(orgId))[0]!.told).toEqual([]);
    await database.pool.query('delete from mail_outbox where org_id = $1', [orgId]);
    await tell();
    expect((await budgets.list(orgId))[0]!.told).toMatchObject([{ share: 25 }]);
  });

  it('an organisation whose e-mails are full, and whose older budgets reach shares, holds up none of another', async () => {
    const full = orgId;
    for (let i = 0; i < 3; i += 1) await budgets.make(full, BUDGET, OPERATOR);
    await use(4);
    await database.pool.query(
      `insert into mail_outbox (org_id, recipient, subject, body, created_at, next_attempt_at)
       select $1, 'x@' || i || '.example', '', '', now(), now() from generate_series(1, 60) i`,
      [full],
    );
    orgId = (await activeAccount(registries)).id;
    await budgets.make(orgId, BUDGET, OPERATOR);
    await use(4);
    // As many as the older organisation has with two of its budgets.
    await tell(2 * BUDGET.shares.length);
    expect((await budgets.list(full)).flatMap(({ told }) => told)).toEqual([]);
    expect((await budgets.list(orgId))[0]!.told).toHaveLength(BUDGET.shares.length);
  });

  it('a closed organisation, and one that has used nothing, is told nothing', async () => {
    await budgets.make(orgId, BUDGET, OPERATOR);
    await use(4);
    await registries.accounts.close(orgId, OPERATOR, 'Asked for.');
    await database.pool.query('delete from mail_outbox where org_id = $1', [orgId]);
    await tell();
    expect(await letters()).toEqual([]);
  });
});
