import { expect, it } from 'vitest';
import { createBudgetRegistry } from '#shared/budgets/postgres/budgets.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';

const database = await createTestDatabase();
const docket = (args: readonly string[]) => runDocket(args, { DATABASE_URL: database.url });

it('docket budgets list shows an operator an organisation’s budgets with what is used of each [budgets.objects]', async () => {
  const { id: org } = await activeAccount(createRegistries(database.pool));
  expect((await docket(['budgets', 'list', '--org', org])).stdout).toContain('No budgets.');
  const asked = {
    name: 'Research',
    scope: 'organisation',
    target: null,
    measure: 'energy',
    period: 'month',
    mode: 'soft',
    limit: 0.5,
    shares: [80],
  } as const;
  const { id } = await createBudgetRegistry(database.pool, systemSurroundings).make(
    org,
    asked,
    OPERATOR,
  );
  const { code, stdout } = await docket(['budgets', 'list', '--org', org, '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([
    { id, used: 0, limit: 0.5, unit: 'kWh', mode: 'soft' },
  ]);
});
