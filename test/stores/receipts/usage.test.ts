import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { InferenceRecord, Usage } from '#shared/kernel/inference.ts';
import { DecimalSum } from '#shared/kernel/decimal.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { OTHER_VALUES, TAG_VALUES_A_DAY_MAX } from '#shared/kernel/tags.ts';
import { sumUpAnew } from '#shared/ledger/postgres/usage-anew.ts';
import { integrateBatch } from '#shared/ledger/postgres/integration.ts';
import { estimateInput } from '#shared/methodology/estimate-input.ts';
import { QUANTITY_UNITS, type QuantityName } from '#shared/methodology/measurement.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { createRevisionStore } from '#shared/receipts/postgres/revisions.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import {
  USAGE_GROUPS,
  type UsageFigures,
  type UsageGrouping,
  type UsageRange,
} from '#shared/receipts/usage.ts';
import { recalculate } from '#workers/recalculation/recalculate.ts';
import { revise } from '#workers/recalculation/revise.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import {
  commitReceipts,
  inferenceRecord,
  issuer,
  makeReceiptSigner,
  mendedCatalogue,
  methodology,
  UNSIZED,
} from '#test/support/issuing.ts';
import { collectFindings, integrateAll, tamper } from '#test/support/ledger.ts';
import { recalculateDeps } from '#test/support/recalculating.ts';

/** A record whose tokens are known. */
type CountedRecord = InferenceRecord & { usage: Usage };

const database = await createTestDatabase();
const { signer } = makeReceiptSigner();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 10, 18, 12);
const reader = createUsageReader(database.poolAs('docket_api', 1));
const receipts = database.poolAs('docket_receipts', 1);
const ledger = database.poolAs('docket_ledger', 1);

/** Of receipts that none has replaced: only those are in the sums. */
const CURRENT = `and kind = 'inference'
  and not exists (select from receipt_revision r where r.original_id = entry_id)`;

const at = (time: number, more: Partial<CountedRecord> = {}): CountedRecord =>
  inferenceRecord({
    requestId: newId('req', time),
    startedAt: time,
    endedAt: time + 900,
    ...more,
  });
const usage = async (
  groupBy: UsageGrouping,
  from = NOON - 3 * DAY,
  to = NOON + 3 * DAY,
  orgId = 'org_a',
) => {
  const report = await reader.usage({ orgId, range: { from, to }, groupBy: [groupBy] });
  return { ...report, groups: report.groups! };
};
const countsOf = ({ requests, covered, uncovered, refused }: UsageFigures) => ({
  requests,
  covered,
  uncovered,
  refused,
});

/** The document of a receipt, as it is stored. */
async function documentOf(id: string): Promise<ReceiptDocument> {
  const { rows } = await database.pool.query<{ body: Buffer }>(
    'select body from ledger_body where entry_id = $1',
    [id],
  );
  return JSON.parse(rows[0]!.body.toString()) as ReceiptDocument;
}

/** Revises a receipt that is in the ledger, as restating does. Returns the revision's id. */
async function restate(id: string, outputTokens: number): Promise<string> {
  const { rows } = await database.pool.query<{ body: Buffer; index: string; org_id: string }>(
    `select b.body, e.index, b.org_id from ledger_body b join ledger_entry e using (entry_id) where b.entry_id = $1`,
    [id],
  );
  const { body, index, org_id: orgId } = rows[0]!;
  const document = JSON.parse(body.toString()) as ReceiptDocument;
  const { model, region } = document.credentialSubject;
  const record = at(NOON, { orgId, model, region, usage: { ...at(NOON).usage, outputTokens } });
  const row = revise(
    { issuer, signer: () => signer, now: Date.now, newReceiptId: (ms) => newId('rcpt', ms) },
    {
      original: { receiptId: id, orgId, keyId: 'key_a', leafIndex: Number(index), bytes: body },
      document,
      record,
      measurement: methodology.estimate(estimateInput(mendedCatalogue(), record)),
      gridZone: 'FRA',
      kind: 'restated',
      reason: 'new_methodology',
      askedBecause: null,
    },
  );
  const pool = database.poolAs('docket_recalculation', 1);
  expect(await createRevisionStore(pool).commit([row])).toContain(row.receiptId);
  return row.receiptId;
}

let degraded: string;

beforeAll(async () => {
  const { responseDigest: _, ...answered } = at(NOON);
  const refused: CountedRecord = {
    ...answered,
    outcome: 'refused',
    policy: { version: '2026-11-01', rule: 'a' },
  };
  await commitReceipts(receipts, signer, [
    at(NOON - DAY),
    at(NOON, { keyId: 'key_b', region: 'us-east' }),
    at(NOON + 1, { model: 'llama-3.3-70b' }),
    // The last millisecond of a day, and the first of the next.
    at(NOON + DAY / 2 - 1),
    at(NOON + DAY / 2),
  ]);
  [degraded = ''] = await commitReceipts(receipts, signer, [
    at(NOON + 2, { model: UNSIZED }),
    at(NOON + 3, { model: UNSIZED, keyId: 'key_b' }),
  ]);
  await commitReceipts(receipts, signer, [refused, at(NOON, { orgId: 'org_b' })]);
  await integrateAll(ledger);
});

describe('what an organisation has used', () => {
  it('usage is counted by day in UTC, each request once, with the tokens of uncovered ones apart', async () => {
    const { groups, ledgerSize } = await usage('day');
    expect(groups.map(({ names, requests }) => [names, requests])).toEqual([
      [['2026-11-17'], 1],
      [['2026-11-18'], 6],
      [['2026-11-19'], 1],
    ]);
    expect(groups[1]).toMatchObject({ covered: 3, uncovered: 2, refused: 1 });
    expect(groups[1]!.tokens).toEqual({ input: 455, cachedInput: 320, output: 65 });
    expect(groups[1]!.uncoveredTokens).toEqual({ input: 182, cachedInput: 128, output: 26 });
    expect(ledgerSize).toBe(8);
  });

  it.each<[UsageGrouping, string[]]>([
    [
      'hour',
      [
        '2026-11-17T12:00:00Z',
        '2026-11-18T12:00:00Z',
        '2026-11-18T23:00:00Z',
        '2026-11-19T00:00:00Z',
      ],
    ],
    ['month', ['2026-11']],
    ['model', ['llama-3.1-8b', 'llama-3.3-70b', UNSIZED]],
    ['region', ['eu-west', 'us-east']],
    ['key', ['key_a', 'key_b']],
    ['tier', ['degraded', 'enterprise']],
    ['quality', ['', 'T3']],
  ])('usage is grouped by %s', async (groupBy, names) => {
    const { groups, total } = await usage(groupBy);
    expect(groups.map((group) => group.names[0])).toEqual(names);
    expect(countsOf(total)).toEqual({ requests: 8, covered: 5, uncovered: 2, refused: 1 });
  });

  it('usage is that of the period alone, its start included and its end not', async () => {
    expect((await usage('model', NOON, NOON + 1)).total.requests).toBe(2);
    expect((await usage('model', NOON + 1, NOON + 2)).total.requests).toBe(1);
    expect((await usage('day', NOON + 5 * DAY, NOON + 6 * DAY)).groups).toEqual([]);
  });

  it('the usage of an organisation holds nothing of others', async () => {
    expect((await usage('day', NOON - DAY, NOON + DAY, 'org_b')).total.requests).toBe(1);
    expect((await usage('day', NOON - DAY, NOON + DAY, 'org_c')).groups).toEqual([]);
  });
});

describe('a request whose receipt was revised', () => {
  it('a revised request is counted once, on its own day, with the footprint of the receipt that stands', async () => {
    const before = (await usage('day')).total;
    const worker = recalculateDeps(
      database.poolAs('docket_recalculation', 1),
      signer,
      mendedCatalogue(),
    );
    expect(await recalculate(worker, degraded)).toBe('recalculated');
    await integrateAll(ledger);
    const { rows } = await database.pool.query<{ revision_id: string }>(
      'select revision_id from receipt_revision where original_id = $1',
      [degraded],
    );
    const added = new DecimalSum();
    added.add(before.amounts.energy.value);
    added.add((await documentOf(rows[0]!.revision_id)).measurement!.result[0]!.value);
    for (const groupBy of USAGE_GROUPS) {
      const { total } = await usage(groupBy);
      expect(countsOf(total)).toEqual({ requests: 8, covered: 6, uncovered: 1, refused: 1 });
      expect(total.amounts.energy.value).toBe(added.toString());
    }
    // Its recalculation is of today, and no request of today.
    expect((await usage('day', Date.now() - DAY, Date.now() + DAY)).groups).toEqual([]);
  });
});

/** An inference as the ledger has it: where its first receipt lies, and the one that is current. */
interface Reference {
  index: number;
  at: number;
  /** Of its first receipt. */
  tags: readonly string[];
  cost: string | null;
  document: ReceiptDocument;
}

/** Reads the ledger receipt by receipt, along its chains, with no sum of ours. */
async function inferencesOf(orgId: string): Promise<Reference[]> {
  const { rows } = await database.pool.query<{
    index: string;
    entry_id: string;
    supersedes: string | null;
    tags: string[] | null;
    cost: string | null;
    body: string;
  }>(
    `select e.index, e.entry_id, e.supersedes, b.tags, b.cost, convert_from(b.body, 'UTF8') as body
     from ledger_entry e join ledger_body b using (entry_id) where e.org_id = $1 order by e.index`,
    [orgId],
  );
  const found = new Map<string, Reference>();
  for (const { index, entry_id: id, supersedes, tags, cost, body } of rows) {
    const document = JSON.parse(body) as ReceiptDocument;
    const revised = supersedes === null ? undefined : found.get(supersedes)!;
    if (revised !== undefined) revised.document = document;
    if (revised !== undefined) expect([tags ?? [], cost]).toEqual([revised.tags, revised.cost]);
    const first = { index: Number(index), at: timeOfId(id), tags: tags ?? [], cost, document };
    found.set(id, revised ?? first);
  }
  return [...new Set(found.values())];
}

function referenceOf(inferences: readonly Reference[], range: UsageRange) {
  const meant = inferences.filter(({ at: time, index }) =>
    'from' in range
      ? time >= range.from && time < range.to
      : index >= range.firstIndex && index <= range.lastIndex,
  );
  const sum = (
    of: (document: ReceiptDocument, cost: string | null) => string | number | undefined,
  ): string => {
    const total = new DecimalSum();
    for (const { document, cost } of meant) total.add(String(of(document, cost) ?? 0));
    return total.toString();
  };
  const result = (name: QuantityName, field: 'value' | 'lower' | 'upper') =>
    sum(
      ({ measurement }) => measurement?.result.find((each) => each.quantityKind === name)?.[field],
    );
  return {
    requests: meant.length,
    priced: meant.filter(({ cost }) => cost !== null).length,
    cost: sum((_, cost) => cost ?? 0),
    covered: meant.filter(({ document }) => document.measurement).length,
    input: Number(sum(({ credentialSubject }) => credentialSubject.inputTokens)),
    uncoveredOutput: Number(
      sum((document) => (document.degradation ? document.credentialSubject.outputTokens : 0)),
    ),
    amounts: Object.fromEntries(
      (Object.keys(QUANTITY_UNITS) as QuantityName[]).map((name) => [
        name,
        {
          value: result(name, 'value'),
          lower: result(name, 'lower'),
          upper: result(name, 'upper'),
        },
      ]),
    ),
  };
}

function comparable(of: UsageFigures) {
  const { requests, priced, cost, covered, tokens, uncoveredTokens, amounts } = of;
  return {
    requests,
    priced,
    cost,
    covered,
    input: tokens.input,
    uncoveredOutput: uncoveredTokens.output,
    amounts,
  };
}

/** From one request to another, both included; in any order there may be none between them. */
function betweenRequests(inferences: readonly Reference[], a: number, b: number): UsageRange[] {
  const [from, to] = [a, b].map((n) => inferences[n % inferences.length]?.at);
  return from === undefined || to === undefined || from > to ? [] : [{ from, to: to + 1 }];
}

/** What groups come to together. */
function addedUp(groups: readonly UsageFigures[]): ReturnType<typeof comparable> {
  const sum = (of: (group: UsageFigures) => string | number): string => {
    const total = new DecimalSum();
    for (const group of groups) total.add(String(of(group)));
    return total.toString();
  };
  return {
    requests: Number(sum((group) => group.requests)),
    priced: Number(sum((group) => group.priced)),
    cost: sum((group) => group.cost),
    covered: Number(sum((group) => group.covered)),
    input: Number(sum((group) => group.tokens.input)),
    uncoveredOutput: Number(sum((group) => group.uncoveredTokens.output)),
    amounts: Object.fromEntries(
      (Object.keys(QUANTITY_UNITS) as QuantityName[]).map((name) => [
        name,
        {
          value: sum((group) => group.amounts[name].value),
          lower: sum((group) => group.amounts[name].lower),
          upper: sum((group) => group.amounts[name].upper),
        },
      ]),
    ) as UsageFigures['amounts'],
  };
}

describe('sums of the ledger', () => {
  const orgId = 'org_random';
  const request = fc.record({
    minutes: fc.integer({ min: 0, max: 4 * 24 * 60 }),
    model: fc.constantFrom('llama-3.1-8b', 'llama-3.3-70b', UNSIZED),
    region: fc.constantFrom('eu-west', 'us-east'),
    keyId: fc.constantFrom('key_a', 'key_b'),
    outputTokens: fc.integer({ min: 0, max: 5_000 }),
    cost: fc.constantFrom(undefined, 'EUR 0.000000000001', 'EUR 12.5', 'USD 3'),
    tags: fc.constantFrom(['team=a', 'project=x'], ['team=b'], ['project=x'], []),
  });
  const round = fc.record({
    requests: fc.array(request, { maxLength: 8 }),
    revised: fc.array(fc.nat(), { maxLength: 3 }),
  });

  /** Requests by team, and those of one: what their receipts say, those without the tag too. */
  async function expectByTag(range: UsageRange, inferences: readonly Reference[]): Promise<void> {
    const byTeam = await reader.usage({ orgId, range, groupBy: ['tag:team'] });
    const teamOf = ({ tags }: Reference): string =>
      tags.find((tag) => tag.startsWith('team='))?.slice('team='.length) ?? '';
    const expected = [...Map.groupBy(inferences, teamOf)]
      .map(([team, of]) => [[team], referenceOf(of, range)] as const)
      .filter(([, { requests }]) => requests > 0)
      .toSorted(([[a]], [[b]]) => (a < b ? -1 : 1));
    expect(byTeam.groups!.map(({ names, ...of }) => [names, comparable(of)])).toEqual(expected);
    const tag = { key: 'team', value: 'a' };
    const { total } = await reader.usage({ orgId, range, groupBy: ['day'], tag });
    const ofA = inferences.filter((each) => teamOf(each) === 'a');
    expect(comparable(total)).toEqual(referenceOf(ofA, range));
  }

  /** Of one key it is what usage by keys says of it. */
  async function expectOfKey(range: UsageRange): Promise<void> {
    const byKey = await reader.usage({ orgId, range, groupBy: ['key'] });
    const ofKey = await reader.usage({ orgId, range, groupBy: ['day'], keyId: 'key_b' });
    const found = byKey.groups!.filter(({ names }) => names[0] === 'key_b');
    expect(comparable(ofKey.total)).toEqual(addedUp(found));
    expect(addedUp(ofKey.groups!)).toEqual(comparable(ofKey.total));
  }

  it('groups add up to the total, and the total to the receipts, to the digit, over random receipts, revisions and cut-offs', async () => {
    await commitReceipts(receipts, signer, [at(NOON - 2 * DAY, { orgId, cost: 'EUR 0.1' })]);
    await forAllAsync(
      [
        fc.array(round, { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 2, maxLength: 4 }),
        fc.uniqueArray(fc.constantFrom<UsageGrouping>(...USAGE_GROUPS, 'tag:team'), {
          minLength: 1,
          maxLength: 3,
        }),
      ],
      { numRuns: runs(12, 3) },
      async (rounds, cuts, groupBy) => {
        for (const { requests, revised } of rounds) {
          await commitReceipts(
            receipts,
            signer,
            requests.map(({ minutes, outputTokens, tags, cost, ...more }) =>
              at(NOON + minutes * 60_000, {
                ...more,
                ...(tags.length === 0 ? {} : { tags }),
                ...(cost === undefined ? {} : { cost }),
                orgId,
                usage: { ...at(NOON).usage, outputTokens },
              }),
            ),
          );
          await integrateBatch(ledger, 3);
          await integrateAll(ledger);
          const { rows } = await database.pool.query<{ entry_id: string }>(
            `select entry_id from ledger_body b where org_id = $1
               and not exists (select from receipt_revision r where r.original_id = b.entry_id) order by entry_id`,
            [orgId],
          );
          const chosen = new Set(revised.map((i) => rows[i % rows.length]?.entry_id));
          for (const id of chosen) if (id !== undefined) await restate(id, revised.length * 100);
          await integrateAll(ledger);
        }
        const inferences = await inferencesOf(orgId);
        // What is in another currency is in no sum.
        expect(inferences.some(({ cost }) => cost?.startsWith('3'))).toBe(false);
        const size = inferences.length + 1;
        const minutes = 4 * 24 * 60 + 2;
        for (const [a, b] of cuts) {
          const [first, last] = [a % size, b % size].toSorted((x, y) => x - y) as [number, number];
          const [from, to] = [a % minutes, (b % minutes) + minutes] as [number, number];
          const ranges: UsageRange[] = [
            { firstIndex: first, lastIndex: last },
            { from: NOON + from * 60_000, to: NOON + to * 60_000 },
            { from: NOON, to: NOON + (1 + (b % minutes)) * 60_000 },
            // Cut at requests, within the hours that have some.
            ...betweenRequests(inferences, a, b),
          ];
          for (const range of ranges) {
            const { groups, total } = await reader.usage({ orgId, range, groupBy });
            expect(comparable(total)).toEqual(referenceOf(inferences, range));
            expect(addedUp(groups!)).toEqual(comparable(total));
            await expectByTag(range, inferences);
            await expectOfKey(range);
          }
        }
      },
    );
  });

  it('beyond a hundred values of a tag a day the rest is counted together, also when it is revised and where a range cuts the day [tags.usage]', async () => {
    const org = 'org_values';
    const ofValue = (value: string, time: number) =>
      at(time, { orgId: org, tags: [`run=${value}`] });
    const values = Array.from({ length: TAG_VALUES_A_DAY_MAX }, (_, i) => `v${i}`);
    await database.pool.query(
      `insert into account (id, name, plan, billing_name, billing_email, technical_name, technical_email, created_at, state_changed_at)
         values ($1, 'Values', 'audit', 'a', 'a@a.example', 'a', 'a@a.example', now(), now())`,
      [org],
    );
    await database.pool.query(
      `insert into budget (id, org_id, name, scope, target, measure, period, limit_amount, mode, shares, created_at)
         values ('bgt_values', $1, 'Late', 'tag', 'run=budgeted', 'tokens', 'month', 1, 'soft', '{}', $2)`,
      [org, new Date(NOON - DAY)],
    );
    await commitReceipts(
      receipts,
      signer,
      values.map((value, i) => ofValue(value, NOON + i)),
    );
    await integrateAll(ledger);
    const [late = ''] = await commitReceipts(receipts, signer, [
      ofValue('late', NOON + HOUR / 2),
      ofValue('later', NOON + 1_000),
      ofValue('budgeted', NOON + 1_001),
      ofValue('late', NOON + DAY),
    ]);
    await integrateAll(ledger);
    const byRun = async (from: number, to: number) => {
      const range = { from, to };
      const { groups } = await reader.usage({ orgId: org, range, groupBy: ['tag:run'] });
      return new Map(
        groups!.map(({ names, requests, tokens }) => [names[0], [requests, tokens.output]]),
      );
    };
    const each = at(NOON).usage.outputTokens;
    const day = await byRun(NOON - HOUR, NOON + HOUR);
    expect(day.size).toBe(TAG_VALUES_A_DAY_MAX + 2);
    expect(day.get(OTHER_VALUES)).toEqual([2, 2 * each]);
    expect(day.get('budgeted')).toEqual([1, each]);
    expect((await byRun(NOON, NOON + 2_000)).get(OTHER_VALUES)).toEqual([1, each]);
    expect([...(await byRun(NOON + DAY, NOON + 2 * DAY)).keys()]).toEqual(['late']);
    await restate(late, each + 7);
    await integrateAll(ledger);
    const revised = await byRun(NOON - HOUR, NOON + HOUR);
    expect(revised).toEqual(new Map([...day, [OTHER_VALUES, [2, 2 * each + 7]]]));
  });

  it('usage up to now is read from sums, with any receipts of this hour', async () => {
    const now = Date.now();
    await commitReceipts(receipts, signer, [
      at(now - 2, { orgId: 'org_now' }),
      at(now - 1, { orgId: 'org_now' }),
    ]);
    await integrateAll(ledger);
    const upToNow = async (groupBy: UsageGrouping) => {
      const from = Math.floor(now / DAY - 1) * DAY;
      return (await usage(groupBy, from, Date.now(), 'org_now')).total;
    };
    const before = await upToNow('day');
    expect(before.requests).toBe(2);
    // A reader of single receipts now reads something else.
    await tamper(
      database.pool,
      `update ledger_body set output_tokens = output_tokens + 1 where org_id = $1`,
      ['org_now'],
    );
    expect(await upToNow('day')).toEqual(before);
    expect(await upToNow('hour')).toEqual(before);
  });

  it('while sums are made anew, figures have what is summed up and what is not', async () => {
    const range = { firstIndex: 0, lastIndex: 1_000_000 };
    const asked = { orgId, range, groupBy: ['model', 'tag:team'] } as const;
    const before = await reader.usage(asked);
    for (const table of ['usage_hour', 'usage_day', 'usage_tag_hour', 'usage_tag_day'])
      await tamper(database.pool, `delete from ${table} where org_id = $1`, [orgId]);
    await tamper(database.pool, 'update ledger_head set usage_size = 0 where org_id = $1', [orgId]);
    expect(await reader.usage(asked)).toEqual(before);
    await sumUpAnew(ledger, 7);
    expect(await reader.usage(asked)).toEqual(before);
    // Its next receipts are not summed up before those that come first.
    await commitReceipts(receipts, signer, [at(NOON, { orgId })]);
    await integrateAll(ledger);
    const grown = await reader.usage(asked);
    expect(grown.total.requests).toBe(before.total.requests + 1);
    while (await sumUpAnew(ledger, 7));
    expect(await reader.usage(asked)).toEqual(grown);
    const { rows } = await database.pool.query('select from ledger_head where usage_size <> size');
    expect(rows).toEqual([]);
  });

  it.each([
    ['a figure of an hour', `update usage_hour set energy = energy + 0.000000000001`, 2],
    ['a group of an hour', `update usage_hour set model = model || 'x'`, 4],
    ['a sum that is gone', 'delete from usage_hour', 2],
    ['a figure of a day', `update usage_day set uncovered = uncovered + 1`, 1],
    ['a figure of a tag’s hour', `update usage_tag_hour set energy = energy + 0.000000000001`, 2],
    ['a tag’s day that is gone', 'delete from usage_tag_day', 1],
    ['a receipt’s column', `update ledger_body set output_tokens = output_tokens + 1`, 1],
  ])(
    'fsck finds sums that are not those of the receipts: %s [evidence.usage-sums]',
    async (_, change, found) => {
      const wrong = async () =>
        (await collectFindings(database.poolAs('docket_operator', 1), { orgId, signatures: null }))
          .map(({ kind }) => kind)
          .filter((kind) => kind === 'usage_wrong');
      expect(await wrong()).toEqual([]);
      const table = /update (\w+)|from (\w+)/.exec(change)!.slice(1).find(Boolean)!;
      const { rows } = await database.pool.query<{ kept: object[] }>(
        `select json_agg(t) as kept from ${table} t where org_id = $1`,
        [orgId],
      );
      const column = table === 'ledger_body' ? 'entry_id' : 'model';
      await tamper(
        database.pool,
        `${change} where org_id = $1 and ctid = (
         select ctid from ${table} where org_id = $1 ${table === 'ledger_body' ? CURRENT : ''} order by ${column} limit 1)`,
        [orgId],
      );
      expect(await wrong()).toHaveLength(found);
      await tamper(database.pool, `delete from ${table} where org_id = $1`, [orgId]);
      await tamper(
        database.pool,
        `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`,
        [JSON.stringify(rows[0]!.kept)],
      );
      expect(await wrong()).toEqual([]);
    },
  );
});
