import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { encodeUlid } from '#shared/kernel/ids.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';
import { hourAt } from '#shared/methodology/grid-hour.ts';
import { parseHourlyFactors } from '#shared/methodology/hourly-factors.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { readGridHours } from '#shared/methodology/postgres/grid-hours.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { createHourStore } from '#shared/receipts/postgres/hour-store.ts';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { type HoursDeps, reviseHours } from '#workers/recalculation/hours.ts';
import { issueReceipt } from '#workers/receipts/issue.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { catalogue, inferenceRecord, methodology } from '#test/support/issuing.ts';
import { expectGoodPack } from '#test/support/good-pack.ts';
import { ForgedPack } from '#test/packs/tampering.ts';
import { REPORT_PAGE } from '#shared/packs/layout.ts';
import { ORG, PackLab } from '#test/support/packs.ts';
import { revisionDeps, seenEvents } from '#test/support/recalculating.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-hours-'));
const lab = new PackLab(database.pool, directory);
const zone = catalogue.regions.find(({ code }) => code === 'eu-west')!.zone;
let hours = 0;
/** The start of an hour of the test's own. */
let start: number;
let events: ReturnType<typeof seenEvents>;
beforeEach(() => {
  hours += 3;
  start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - hours * HOUR_MS;
  events = seenEvents();
});

const deps = (more: Partial<HoursDeps> = {}): HoursDeps => {
  const pool = database.poolAs('docket_recalculation', 2);
  return {
    ...revisionDeps(pool, () => lab.signer()),
    catalogue: () => catalogue,
    hours: createHourStore(pool),
    methodology,
    events,
    ...more,
  };
};
/** When no receipts worker issues without the hour any more. */
const revise = async (more: Partial<HoursDeps> = {}) => {
  const later = "update grid_hour_due set due_from = due_from - interval '10 minutes'";
  await database.pool.query(later);
  await reviseHours(deps(more), AbortSignal.timeout(60_000));
};
const issue = async (...more: Partial<InferenceRecord>[]): Promise<ReceiptDocument[]> => {
  const pool = database.poolAs('docket_receipts', 2);
  const range = { fromMs: start - HOUR_MS, toMs: start + DAY_MS };
  // As they were known when the request ran.
  const gridSignal = await readGridHours(pool, { zones: [zone], ...range, nowMs: start + HOUR_MS });
  const issued = more.map((each, i) => {
    const startedAt = each.startedAt ?? start + 60_000 + i;
    const ulid = encodeUlid(startedAt, Buffer.from(String(hours * 100 + i).padStart(10, '0')));
    const record = inferenceRecord({
      requestId: `req_${ulid}`,
      orgId: ORG,
      startedAt,
      endedAt: startedAt + 900,
    });
    const estimate = methodology.estimate;
    const signer = () => lab.signer();
    return issueReceipt(
      {
        issuer: lab.issuer,
        signer,
        estimate,
        catalogue: () => catalogue,
        now: Date.now,
        gridSignal,
      },
      { ...record, upstreamMs: 800, ...each },
    ).row;
  });
  await createReceiptStore(pool).commit(issued);
  await lab.integrate();
  return issued.map(({ text }) => JSON.parse(text) as ReceiptDocument);
};
const HEAD =
  'Datetime (UTC),Country,Zone name,Zone id,Carbon intensity gCO₂eq/kWh (direct),Carbon intensity gCO₂eq/kWh (Life cycle),Data estimated\n';
/** @param of hours from the start, one alone unless they are said */
const load = async (grams: number, of: readonly number[] = [0]) => {
  const path = join(directory, `${hours}-${grams}-${of.length}.csv`);
  const lines = of.map((each) => {
    const hour = new Date(start + each * HOUR_MS).toISOString().slice(0, 19).replace('T', ' ');
    return `${hour},France,France,FR,10,${grams},false\n`;
  });
  writeFileSync(path, HEAD + lines.join(''));
  return runDocket(['factors', 'import', path, '--zone', zone, '--json'], {
    DATABASE_URL: database.url,
  });
};
const hourOf = ({ measurement }: ReceiptDocument) =>
  measurement!.used.find(({ type }) => type === 'GridFactor');
const due = async (): Promise<number> =>
  (await database.pool.query('select from grid_hour_due')).rowCount!;

describe('the factor of the hour', () => {
  it('an hour that is imported revises the receipts of the tier enterprise that were issued before, once, and again when it is corrected [receipts.hourly-factors]', async () => {
    const [early, plain] = await issue({}, { tier: 'audit' });
    expect(hourOf(early!)).toBeUndefined();
    const { code, stdout } = await load(55.5);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { zones: zone, hours: 1, new_hours: 1 }]);
    const { version } = JSON.parse(stdout) as { version: string };
    await revise();
    await lab.integrate();
    await revise();
    expect(await due()).toBe(0);
    expect(events.rows.map(({ supersedes }) => supersedes)).toEqual([early!.id.split('/').at(-1)]);
    const revised = JSON.parse(events.rows[0]!.text) as ReceiptDocument;
    expect(revised).toMatchObject({ revisionReason: 'hourly_factor', revisionNumber: 1 });
    expect(hourOf(revised)).toMatchObject({
      record: {
        gwp_kgco2e_per_kwh: '0.0555',
        hour: hourAt(start),
        version,
        zone,
        provider: 'Electricity Maps',
      },
    });
    expect(plain!.tier).toBe('audit');
    await load(60);
    await revise();
    await lab.integrate();
    expect(events.rows).toHaveLength(2);
    expect(JSON.parse(events.rows[1]!.text)).toMatchObject({ revisionNumber: 2 });
  });

  it('of a day that lacks hours two days after its end receipts go back to the annual factor, once; a day that is whole late has its hours again, and one that is whole in time is not looked at [receipts.hourly-factors]', async () => {
    const day = (ago: number) => Math.floor(Date.now() / DAY_MS) * DAY_MS - ago * DAY_MS;
    const asImportedInTime = async () => {
      await database.pool.query('delete from grid_hour_due');
      await database.pool.query('insert into grid_day_open (day, zone) values ($1, $2)', [
        new Date(start).toISOString().slice(0, 10),
        zone,
      ]);
    };
    start = day(4);
    await load(31, [0, 1, 2]);
    await asImportedInTime();
    const later = start + 4 * HOUR_MS;
    const [clean, dirty] = await issue({}, { startedAt: later, endedAt: later + 900 });
    expect([dirty, clean].map((each) => hourOf(each!)?.record)).toMatchObject([
      undefined,
      { hour: hourAt(start) },
    ]);
    // Two processes at once judge it once.
    await Promise.all([
      reviseHours(deps(), AbortSignal.timeout(60_000)),
      reviseHours(deps(), AbortSignal.timeout(60_000)),
    ]);
    await lab.integrate();
    await revise();
    expect(await due()).toBe(0);
    const texts = events.rows.map(({ text }) => JSON.parse(text) as ReceiptDocument);
    expect(
      texts.map((each) => [each.wasRevisionOf?.id, each.revisionReason, hourOf(each)]),
    ).toEqual([[clean!.id, 'hours_incomplete', undefined]]);
    // What has come too late and is still not whole changes nothing.
    await load(32, [0, 1]);
    await revise();
    expect(events.rows).toHaveLength(1);
    await load(
      33,
      Array.from({ length: 24 }, (_, hour) => hour),
    );
    await revise();
    await lab.integrate();
    expect(
      events.rows.slice(1).map(({ text }) => JSON.parse(text) as ReceiptDocument),
    ).toMatchObject([
      { revisionReason: 'hourly_factor', revisionNumber: 2 },
      { revisionReason: 'hourly_factor', revisionNumber: 1 },
    ]);
    start = day(5);
    await load(
      34,
      Array.from({ length: 24 }, (_, hour) => hour),
    );
    await asImportedInTime();
    await reviseHours(deps(), AbortSignal.timeout(60_000));
    expect([await due(), events.incomplete]).toEqual([0, 1]);
    await expectGoodPack(lab, directory);
  });

  it('a receipt that cannot be read is reported, and the others of its hour are revised', async () => {
    const [first, second] = await issue({}, {});
    await load(55.5);
    const { hours: store } = deps();
    const page: HoursDeps['hours']['page'] = async (...args) => {
      const { receipts, ...rest } = await store.page(...args);
      const idOf = ({ receiptId }: { receiptId: string }) => first!.id.endsWith(receiptId);
      return {
        ...rest,
        receipts: receipts.map((each) => (idOf(each) ? { ...each, bytes: Buffer.of() } : each)),
      };
    };
    await revise({ hours: { ...store, page } });
    await lab.integrate();
    expect(events.skipped).toEqual([first!.id.split('/').at(-1)]);
    expect(events.rows.map(({ supersedes }) => supersedes)).toEqual([second!.id.split('/').at(-1)]);
  });

  it('an hour that was imported stands on receipts issued after; both verifiers find their packs good, and say what the gas is by hour and by year [receipts.hourly-factors]', async () => {
    await load(42);
    const [late, next] = await issue(
      {},
      { startedAt: start + HOUR_MS + 5, endedAt: start + HOUR_MS + 905 },
    );
    expect(hourOf(late!)).toMatchObject({ record: { gwp_kgco2e_per_kwh: '0.042' } });
    expect(hourOf(next!)).toBeUndefined();
    await revise();
    expect(events.rows).toEqual([]);
    const said = await expectGoodPack(lab, directory);
    // 42 g of the hour, and the zone's year beside it: a pack of the cleanest days alone says both.
    const both =
      /factors of hours.*\bFRA, (\d+) of (\d+) receipts of the tier enterprise, (\d+) days? in part: (\S+) kgCO2e of electricity by hour, (\S+) by year; hours by “Electricity Maps”.*word of the operator/;
    const [, hourly, all, mixed, byHour, byYear] = both.exec(said.python) ?? [];
    expect(both.exec(said.typescript)?.slice(1)).toEqual([hourly, all, mixed, byHour, byYear]);
    const { rows } = await database.pool.query<{ body: string }>(
      `select convert_from(body, 'UTF8') as body from ledger_body b
         where tier = 'enterprise' and not exists (select from ledger_body n where n.supersedes = b.entry_id)`,
    );
    const current = rows.map(({ body }) => JSON.parse(body) as ReceiptDocument);
    const counted = current.filter((each) => hourOf(each) !== undefined);
    expect([hourly, all].map(Number)).toEqual([counted.length, current.length]);
    const kwh = (each: ReceiptDocument) => Number(each.measurement!.result[0]!.value);
    const gas = counted.map(
      (each) => kwh(each) * Number(hourOf(each)!.record['gwp_kgco2e_per_kwh']),
    );
    const annual = newestFactorSet().grid.find(({ id }) => id === zone)!.gwp_kgco2e_per_kwh;
    expect(Number(byHour)).toBeCloseTo(
      gas.reduce((sum, each) => sum + each),
      15,
    );
    expect(Number(byYear)).toBeCloseTo(
      counted.reduce((sum, each) => sum + kwh(each) * annual, 0),
      15,
    );
    expect(byHour).not.toBe(byYear);
  });

  it('an hour that is further from the year of its zone than zones are from the world is named when it is imported, on the page and by both verifiers', async () => {
    const annual = newestFactorSet().grid.find(({ id }) => id === zone)!.gwp_kgco2e_per_kwh;
    const { stdout } = await load(annual * 1_000 * 4);
    expect(JSON.parse(stdout)).toMatchObject({ out_of_range: [] });
    start -= HOUR_MS;
    const odd = await load(0);
    expect(JSON.parse(odd.stdout)).toMatchObject({ out_of_range: [`${zone} ${hourAt(start)} 0`] });
    await issue({}, { startedAt: start + HOUR_MS + 5, endedAt: start + HOUR_MS + 905 });
    const said = await expectGoodPack(lab, directory);
    for (const text of [said.python, said.typescript])
      expect(text).toMatch(/hours out of range.*FRA, 1 receipts?: further from the annual factor/);
    const page = new ForgedPack(join(directory, 'whole.zip')).text(REPORT_PAGE);
    expect(page).toMatch(
      /<th scope="row">FRA<\/th><td class="words">Electricity Maps<\/td>.*<td>1<\/td><\/tr>/,
    );
    expect(page).toMatch(/Use of electricity .* making of hardware/);
  });

  it('a file of hours is refused that is marginal, in grams, of two zones, without hours, or states an hour twice or no whole one', () => {
    const rules: [string, RegExp][] = [
      ['point_time,value\n2026-11-20T13:00:00+00:00,900\n', /marginal/],
      ['zone,hour,gwp_kgco2e_per_kwh\nFRA,2026-11-20T13:00:00Z,42\n', /from 0 to 5/],
      ['zone,hour,gwp_kgco2e_per_kwh\nFRA,2026-11-20T13:30:00Z,0.04\n', /whole hour/],
      ['zone,hour,gwp_kgco2e_per_kwh\nFRA,2026-02-30T13:00:00Z,0.04\n', /whole hour/],
      [
        'zone,hour,gwp_kgco2e_per_kwh\nFRA,2026-11-20T13:00:00Z,0.04\nFRA,2026-11-20T13:00:00Z,0.05\n',
        /twice/,
      ],
      [
        'Datetime (UTC),Zone Id,Carbon Intensity gCO₂eq/kWh (LCA)\n2026-11-20 13:00:00,FR,40\n2026-11-20 14:00:00,DE,400\n',
        /another zone/,
      ],
      ['a,b\n1,2\n', /no known layout/],
      ['zone,hour,gwp_kgco2e_per_kwh\n', /no hour/],
      // No receipt could state it.
      ['zone,hour,gwp_kgco2e_per_kwh\nFRA,2026-11-20T13:00:00Z,1e-50\n', /line 2.*must state/],
    ];
    for (const [text, rule] of rules)
      expect(() => parseHourlyFactors(text, { zone, provider: 'p', signal: 's' })).toThrow(rule);
    expect(() =>
      parseHourlyFactors('zone,hour,gwp_kgco2e_per_kwh\nFRA,2026-11-20T13:00:00Z,0.04\n', {}),
    ).toThrow(/provider/);
  });
});
