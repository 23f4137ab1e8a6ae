import { expect, it } from 'vitest';
import { receiptIdOf, timeOfId } from '#shared/kernel/ids.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { activeAccount, createRegistries } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';

const database = await createTestDatabase();
const docket = (args: readonly string[]) => runDocket(args, { DATABASE_URL: database.url });

it('docket requests show tells an operator what became of a request, and in one line that nothing is known of one [requests.found]', async () => {
  const { id: orgId } = await activeAccount(createRegistries(database.pool));
  const answered = requestRow({ orgId });
  const refused = refusedRow({ orgId, requests: 7, lastMs: 4_000 });
  await writeRequests(database.poolAs('docket_api', 1), [answered, refused]);
  const receiptId = receiptIdOf(answered.id);
  for (const id of [answered.id, receiptId]) {
    const { code, stdout } = await docket(['requests', 'show', id, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      request_id: answered.id,
      org_id: orgId,
      status: 200,
      code: null,
      output_tokens: 28,
      receipt_id: receiptId,
      requests: 1,
    });
  }
  const { stdout } = await docket(['requests', 'show', refused.id]);
  expect(stdout).toMatch(/^code +requests_per_second_exceeded$/m);
  expect(stdout).toMatch(/^requests +7$/m);
  const last = new Date(timeOfId(refused.id) + 4_000).toISOString();
  expect(stdout).toContain(last);
  const unknown = await docket(['requests', 'show', 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC']);
  expect([unknown.code, unknown.stdout]).toEqual([1, '']);
  expect(unknown.stderr).toMatch(/^docket: Nothing is on record of .*\n$/);
});
