import { beforeEach, expect, it } from 'vitest';
import {
  CHOSEN_TYPES,
  EVENT_DAYS,
  WEBHOOK_EVENTS,
  type WebhookType,
} from '#shared/accounts/webhook-events.ts';
import { forgetEvents } from '#shared/accounts/postgres/events.ts';
import { createAccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { createBudgetRegistry } from '#shared/budgets/postgres/budgets.ts';
import { createBudgetRounds } from '#shared/budgets/postgres/told.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { createKeyDeadlines } from '#shared/keys/postgres/deadlines.ts';
import { createKeyRegistry } from '#shared/keys/postgres/keys.ts';
import { haltLogs } from '#shared/ledger/postgres/append.ts';
import { createExportJobs } from '#shared/packs/postgres/export-jobs.ts';
import { Totals } from '#shared/packs/totals.ts';
import { createRevisionStore } from '#shared/receipts/postgres/revisions.ts';
import { tellFailing } from '#shared/requests/postgres/failing.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { createWebhookRegistry } from '#shared/webhooks/postgres/endpoints.ts';
import { createSecretSeals } from '#shared/webhooks/secret-seals.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { newPerson } from '#test/support/dashboard.ts';
import { requestRow } from '#test/support/requests.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const pools = receiptPools(database);
const { signer } = makeReceiptSigner();
const api = database.poolAs('docket_api');
const housekeeping = database.poolAs('docket_housekeeping');
const webhooks = createWebhookRegistry(api, systemSurroundings, {
  seals: createSecretSeals('a secret of this test', systemSurroundings),
  inside: [],
});
const keys = createKeyRegistry(api, systemSurroundings);

let orgId = '';
beforeEach(async () => {
  orgId = (await activeAccount(registries)).id;
  await newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'owner' }]);
});

const make = async (events: string[]): Promise<string> => {
  const asked = { address: 'https://hooks.example/x', description: '', events };
  return (await webhooks.make(orgId, asked, OPERATOR)).endpoint.id;
};
const messages = async (): Promise<{ endpoint: string; body: Record<string, unknown> }[]> => {
  const { rows } = await database.pool.query<{ endpoint_id: string; body: string }>(
    'select endpoint_id, body from webhook_delivery where org_id = $1 order by id',
    [orgId],
  );
  return rows.map((row) => ({
    endpoint: row.endpoint_id,
    body: JSON.parse(row.body) as Record<string, unknown>,
  }));
};
/** What members of the organisation read. */
const events = async (): Promise<{ id: string; type: string; data: object }[]> =>
  (
    await database.pool.query<{ id: string; type: string; data: object }>(
      'select id, type, data from event where org_id = $1 order by id',
      [orgId],
    )
  ).rows;
const use = (requests: number, over: object = {}) =>
  issueReceipts(
    pools,
    signer,
    Array.from({ length: requests }, () =>
      inferenceRecord({ orgId, requestId: newId('req'), ...over }),
    ),
  );

/** How each event comes about, by the role whose process decides it. */
const FACTS: Readonly<Record<Exclude<WebhookType, 'webhook.test'>, () => Promise<unknown>>> = {
  'budget.reached': async () => {
    const budget = {
      name: 'Research',
      scope: 'organisation',
      target: null,
      measure: 'requests',
      period: 'day',
      mode: 'soft',
      limit: 4,
      shares: [25, 50],
    } as const;
    await createBudgetRegistry(api, systemSurroundings).make(orgId, budget, OPERATOR);
    await use(2);
    await createBudgetRounds(housekeeping, systemSurroundings)(10);
  },
  'key.expiring': async () => {
    await keys.issue(orgId, { name: 'k', expiresAt: Date.now() + 10 * DAY_MS }, OPERATOR);
    await createKeyDeadlines(housekeeping, systemSurroundings).warnExpiring(10);
  },
  'key.leaked': async () => {
    const { key } = await keys.issue(orgId, { name: 'k' }, OPERATOR);
    await keys.revoke(orgId, key.id, OPERATOR, { leaked: true });
  },
  'requests.failing': async () => {
    const failed = { orgId, status: 503, code: 'region_degraded' };
    await writeRequests(api, [
      ...Array.from({ length: 20 }, () => requestRow(failed)),
      requestRow({ ...failed, status: 400, code: 'invalid_model' }),
    ]);
    await tellFailing(housekeeping, systemSurroundings, orgId);
    await tellFailing(housekeeping, systemSurroundings, orgId);
  },
  'receipts.degraded': async () => {
    const ids = await use(2, { model: UNSIZED, upstreamModel: UNSIZED });
    const failure = { stage: 'model', code: 'model_size_unknown', basis: 'x' } as const;
    const store = createRevisionStore(database.poolAs('docket_recalculation'));
    await store.failed(ids[0]!, { ...failure, retryInMs: 1_000 });
    for (const id of ids) await store.failed(id, { ...failure, retryInMs: null });
  },
  'ledger.halted': async () => {
    await use(1);
    const reasons = new Map([[orgId, 'a reason for the service alone']]);
    await haltLogs(database.poolAs('docket_ledger'), reasons);
    await haltLogs(database.poolAs('docket_ledger'), reasons);
  },
  'export.ready': async () => {
    const [id, runId] = [newId('exp'), 'run'];
    await database.pool.query(
      `insert into export (id, org_id, status, run_id, first_index, last_index, checkpoint_size)
       values ($1, $2, 'running', $3, 0, 0, 1)`,
      [id, orgId, runId],
    );
    const jobs = createExportJobs(database.poolAs('docket_exports'), systemSurroundings);
    const run = { runId, record: { id } } as Parameters<typeof jobs.finish>[0];
    const sealed = { name: 'a', seal: 'b', totals: new Totals().document() };
    const pack = { sizeBytes: 5, sha256: 'a'.repeat(64), lacks: [], keptDays: 7, ...sealed };
    expect(await jobs.finish(run, pack)).toBe(true);
    expect(await jobs.finish(run, pack)).toBe(false);
  },
  'organisation.suspended': () =>
    createAccountRegistry(database.poolAs('docket_operator'), systemSurroundings).suspend(
      orgId,
      OPERATOR,
      'a question',
    ),
};

it.for(CHOSEN_TYPES)(
  '%s is written once for members and once for each webhook that was made for it, with what the documentation shows of it [webhooks.delivered, dashboard.notifications]',
  async (type) => {
    const told = [await make([type]), await make([...CHOSEN_TYPES])];
    await make(CHOSEN_TYPES.filter((other) => other !== type));
    await FACTS[type]();
    const written = await messages();
    expect(written.map(({ endpoint }) => endpoint).toSorted()).toEqual(told.toSorted());
    const { example } = WEBHOOK_EVENTS[type];
    expect((await events()).map(({ data, ...event }) => [event.type, shapeOf(data)])).toEqual([
      [type, shapeOf(example)],
    ]);
    for (const { body } of written) {
      expect(Object.keys(body)).toEqual(['type', 'timestamp', 'data']);
      expect(body['type']).toBe(type);
      const { organisation, ...data } = body['data'] as Record<string, object>;
      expect(organisation).toBe(orgId);
      expect(shapeOf(data)).toEqual(shapeOf(example));
    }
  },
);

/** The members of a value, and of what each is. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]));
}

it('a fact that is undone leaves no message, and one that repeats itself no second one [webhooks.delivered, dashboard.notifications]', async () => {
  await make(['key.leaked', 'key.expiring', 'budget.reached']);
  const { key } = await keys.issue(orgId, { name: 'k' }, OPERATOR);
  const failing = {
    ...systemSurroundings,
    newId: () => {
      throw new Error('killed between the fact and its message');
    },
  };
  const undone = createKeyRegistry(api, failing).revoke(orgId, key.id, OPERATOR, {
    leaked: true,
  });
  await expect(undone).rejects.toThrow('killed');
  expect(await messages()).toEqual([]);
  expect(await events()).toEqual([]);
  expect((await keys.get(orgId, key.id)).leaked).toBe(false);
  await FACTS['key.expiring']();
  await createKeyDeadlines(housekeeping, systemSurroundings).warnExpiring(10);
  await FACTS['budget.reached']();
  await createBudgetRounds(housekeeping, systemSurroundings)(10);
  const types = (await messages()).map(({ body }) => body['type']);
  expect(types).toEqual(['key.expiring', 'budget.reached']);
  expect((await events()).map(({ type }) => type)).toEqual(types);
});

it('what was told is forgotten after its days, and all of it when the organisation is closed [dashboard.notifications]', async () => {
  await FACTS['key.leaked']();
  await FACTS['key.leaked']();
  const [first, second] = await events();
  await database.pool.query('update event set at = $2 where id = $1', [
    first!.id,
    new Date(Date.now() - EVENT_DAYS * DAY_MS - 1_000),
  ]);
  const until = new Date(Date.now() - EVENT_DAYS * DAY_MS);
  await forgetEvents(database.poolAs('docket_purge'), until, 10);
  expect((await events()).map(({ id }) => id)).toEqual([second!.id]);
  await createAccountRegistry(database.poolAs('docket_operator'), systemSurroundings).close(
    orgId,
    OPERATOR,
    'asked for',
  );
  expect(await events()).toEqual([]);
});

it('a share is told to webhooks once though the e-mails of the hour are full, and is looked for where the ledger has grown alone [webhooks.prompt, webhooks.delivered]', async () => {
  await make(['budget.reached']);
  await database.pool.query(
    `insert into mail_outbox (org_id, recipient, subject, body, created_at, next_attempt_at)
       select $1, 'x@' || i || '.example', '', '', now(), now() from generate_series(1, 60) i`,
    [orgId],
  );
  const round = createBudgetRounds(housekeeping, systemSurroundings);
  await round(10);
  await FACTS['budget.reached']();
  expect(await round(10)).toBe(true);
  expect(await messages()).toHaveLength(1);
  await database.pool.query('delete from webhook_delivery where org_id = $1', [orgId]);
  await database.pool.query(
    `update ledger_head set integrated_at = now() - interval '1 hour' where org_id = $1`,
    [orgId],
  );
  expect(await round(10)).toBe(false);
  expect(await createBudgetRounds(housekeeping, systemSurroundings)(10)).toBe(true);
});
