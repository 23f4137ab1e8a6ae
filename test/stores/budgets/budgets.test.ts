import { beforeEach, describe, expect, it } from 'vitest';
import { BUDGETS_MAX, type NewBudget } from '#shared/budgets/budget.ts';
import { createBudgetRegistry, usedByNow } from '#shared/budgets/postgres/budgets.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { hashKey } from '#shared/keys/format.ts';
import { createCredentialSource } from '#shared/keys/postgres/credentials.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  commitReceipts,
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

const BUDGET: NewBudget = {
  name: 'Research',
  scope: 'organisation',
  target: null,
  measure: 'tokens',
  period: 'day',
  mode: 'soft',
  limit: 1_000,
  shares: [50, 100],
};
let orgId = '';
beforeEach(async () => {
  orgId = (await activeAccount(registries)).id;
});
const acts = async () =>
  (await registries.audit.list({ orgId, limit: 10, order: 'desc' })).items
    .filter(({ action }) => action.startsWith('budget.'))
    .map(({ action, subject }) => `${action} ${subject}`);

describe('budgets [budgets.objects]', () => {
  it('what is used is what receipts of the period say, of the organisation, of a key, and of a model', async () => {
    const { key } = await registries.keys.issue(orgId, { name: 'Batch' }, OPERATOR);
    const day = 86_400_000;
    const today = Math.floor(Date.now() / day) * day;
    const usage = {
      inputTokens: 100,
      cachedInputTokens: 0,
      outputTokens: 11,
      source: 'upstream' as const,
    };
    const record = (more = {}) =>
      inferenceRecord({
        orgId,
        keyId: newId('key'),
        requestId: newId('req', today + 1),
        usage,
        ...more,
      });
    const { model } = record();
    await issueReceipts(pools, signer, [
      record(),
      record({ keyId: key.id }),
      record({ keyId: key.id, requestId: newId('req', today - 1) }),
      record({ model: 'mixtral-8x7b' }),
    ]);
    const make = (more: Partial<NewBudget>) =>
      budgets.make(orgId, { ...BUDGET, ...more }, OPERATOR);
    await make({});
    await make({ measure: 'requests' });
    await make({ scope: 'key', target: key.id });
    await make({ scope: 'model', target: model });
    await make({ measure: 'energy' });
    await make({ period: 'month' });
    await make({ period: 'month', scope: 'key', target: key.id });
    const listed = await budgets.list(orgId);
    expect(listed.map(({ used }) => used).slice(0, 4)).toEqual([333, 3, 111, 222]);
    expect(listed[4]!.used).toBeGreaterThan(0);
    const yesterdays = new Date(today).getUTCDate() === 1 ? 0 : 111;
    expect(listed.map(({ used }) => used).slice(5)).toEqual([333 + yesterdays, 111 + yesterdays]);
    expect(listed[2]!.keyName).toBe('Batch');
    const other = (await activeAccount(registries)).id;
    expect(await budgets.list(other)).toEqual([]);
  });

  it('a budget of money counts what requests cost, in the ledger or on the way there, in the one currency that costs are counted in', async () => {
    const money = { ...BUDGET, measure: 'money', limit: 0.5, mode: 'hard' } as const;
    await expect(budgets.make(orgId, money, OPERATOR)).rejects.toMatchObject({
      code: 'invalid_measure',
    });
    const made = await budgets.make(orgId, money, OPERATOR, 'EUR');
    await expect(budgets.make(orgId, money, OPERATOR, 'USD')).rejects.toMatchObject({
      code: 'invalid_measure',
    });
    const record = (cost?: string) =>
      inferenceRecord({ orgId, requestId: newId('req'), ...(cost !== undefined && { cost }) });
    const costs = ['EUR 0.1', 'EUR 0.000000000001', 'USD 7', undefined];
    await issueReceipts(pools, signer, costs.map(record));
    expect(await budgets.list(orgId)).toMatchObject([{ used: 0.100000000001, currency: 'EUR' }]);
    await commitReceipts(pools.receipts, signer, [record('EUR 0.2')]);
    const day = 86_400_000;
    const since = Math.floor(Date.now() / day) * day;
    const asked = { orgId, budget: made.id, since, until: since + day };
    expect(await usedByNow(database.poolAs('docket_api'), asked)).toBe(0.300000000001);
  });

  it('a budget of a tag counts the requests that have it, in the ledger or on the way there; its tag is declared, and stays so [tags.budgets]', async () => {
    const ofTeam = { ...BUDGET, scope: 'tag', target: 'team=a', measure: 'requests' } as const;
    await expect(budgets.make(orgId, ofTeam, OPERATOR)).rejects.toMatchObject({
      code: 'invalid_target',
    });
    await registries.accounts.setTags(orgId, ['team', 'run'], OPERATOR);
    for (const target of ['team', 'team=', 'team=a b', '=a', 'user_id=a']) {
      expect(() => budgets.make(orgId, { ...ofTeam, target }, OPERATOR)).toThrow(
        expect.objectContaining({ code: 'invalid_target' }),
      );
    }
    const made = await budgets.make(orgId, ofTeam, OPERATOR);
    await budgets.make(orgId, { ...BUDGET, measure: 'requests' }, OPERATOR);
    const record = (tags: string[]) =>
      inferenceRecord({ orgId, requestId: newId('req'), ...(tags.length > 0 && { tags }) });
    await issueReceipts(pools, signer, [
      record(['team=a', 'run=1']),
      record(['team=b']),
      record(['run=a']),
      record([]),
    ]);
    expect((await budgets.list(orgId)).map(({ used }) => used)).toEqual([1, 4]);
    await commitReceipts(pools.receipts, signer, [record(['team=a']), record(['team=b'])]);
    const day = 86_400_000;
    const since = Math.floor(Date.now() / day) * day;
    const asked = { orgId, budget: made.id, since, until: since + day };
    expect(await usedByNow(database.poolAs('docket_api'), asked)).toBe(2);
    await expect(registries.accounts.setTags(orgId, ['run'], OPERATOR)).rejects.toMatchObject({
      code: 'invalid_tags',
    });
    await budgets.end(orgId, made.id, OPERATOR);
    expect((await registries.accounts.setTags(orgId, ['run'], OPERATOR)).tags).toEqual(['run']);
  });

  it('each act is in the audit log; a budget of another organisation is as none, and so is its key', async () => {
    const made = await budgets.make(orgId, BUDGET, OPERATOR);
    const changed = await budgets.change(orgId, made.id, { ...BUDGET, limit: 2_000 }, OPERATOR);
    expect(changed).toEqual({ ...made, limit: 2_000 });
    const other = (await activeAccount(registries)).id;
    const missing = { code: 'budget_not_found' };
    // Tightened since it was seen: an act for which no proof was asked does not loosen it.
    const stale = { code: 'invalid_budget' };
    const asSeen = { ...BUDGET, limit: 3_000, seen: made };
    await expect(budgets.change(orgId, made.id, asSeen, OPERATOR)).rejects.toMatchObject(stale);
    await expect(budgets.end(orgId, made.id, OPERATOR, made)).rejects.toMatchObject(stale);
    await expect(budgets.change(other, made.id, BUDGET, OPERATOR)).rejects.toMatchObject(missing);
    await expect(budgets.end(other, made.id, OPERATOR)).rejects.toMatchObject(missing);
    const { key } = await registries.keys.issue(other, { name: 'Theirs' }, OPERATOR);
    const ofKey = { ...BUDGET, scope: 'key', target: key.id } as const;
    await expect(budgets.make(orgId, ofKey, OPERATOR)).rejects.toMatchObject({
      code: 'key_not_found',
    });
    await budgets.end(orgId, made.id, OPERATOR);
    expect(await budgets.list(orgId)).toEqual([]);
    expect(await acts()).toEqual(
      ['ended', 'changed', 'made'].map((act) => `budget.${act} ${made.id}`),
    );
  });

  it('there are no more than the bound, however many are made at once', async () => {
    const made = await Promise.allSettled(
      Array.from({ length: BUDGETS_MAX + 4 }, () => budgets.make(orgId, BUDGET, OPERATOR)),
    );
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(BUDGETS_MAX);
    expect(made.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'invalid_budget' },
    });
    expect(await budgets.list(orgId)).toHaveLength(BUDGETS_MAX);
  });
});

describe('hard budgets [budgets.hard]', () => {
  it('a key comes with those that its requests may fall under, and processes that hold it are told of each change', async () => {
    const one = await registries.keys.issue(orgId, { name: 'One' }, OPERATOR);
    const two = await registries.keys.issue(orgId, { name: 'Two' }, OPERATOR);
    const told: string[] = [];
    const listener = await database.pool.connect();
    listener.on('notification', ({ payload = '' }) => told.push(payload));
    await listener.query('listen docket_credentials');
    const make = (more: Partial<NewBudget>) =>
      budgets.make(orgId, { ...BUDGET, ...more }, OPERATOR);
    await make({ mode: 'hard', name: 'all' });
    const ofKey = await make({ mode: 'hard', name: 'key', scope: 'key', target: one.key.id });
    await make({ mode: 'hard', name: 'model', scope: 'model', target: 'm', measure: 'requests' });
    await make({ mode: 'soft', name: 'soft' });
    const hashes = [one, two].map(({ plaintext }) => hashKey(plaintext));
    const namesOf = async () => {
      const found = await createCredentialSource(database.poolAs('docket_api')).findByHashes(
        hashes,
      );
      return hashes.map((hash) =>
        found
          .get(hash)!
          .budgets.map(({ name }) => name)
          .join(),
      );
    };
    expect(await namesOf()).toEqual(['all,key,model', 'all,model']);
    await budgets.change(orgId, ofKey.id, { ...BUDGET, mode: 'soft' }, OPERATOR);
    expect(await namesOf()).toEqual(['all,model', 'all,model']);
    await listener.query('unlisten *');
    listener.release();
    expect(told.filter((payload) => payload.includes(orgId))).toHaveLength(5);
  });

  it('what is used by now includes receipts that the ledger does not have yet, each once, and of its period alone', async () => {
    const { id } = await budgets.make(
      orgId,
      { ...BUDGET, mode: 'hard', measure: 'requests' },
      OPERATOR,
    );
    const day = 86_400_000;
    const since = Math.floor(Date.now() / day) * day;
    const used = () =>
      usedByNow(database.poolAs('docket_api'), { orgId, budget: id, since, until: since + day });
    const record = (at: number) => inferenceRecord({ orgId, requestId: newId('req', at) });
    await commitReceipts(pools.receipts, signer, [
      record(since),
      record(since - 1),
      record(since + day),
    ]);
    expect(await used()).toBe(1);
    await issueReceipts(pools, signer, [record(since + 1)]);
    expect(await used()).toBe(2);
  });
});
