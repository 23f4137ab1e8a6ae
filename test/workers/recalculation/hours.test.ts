import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { encodeUlid } from '#shared/kernel/ids.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';
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
  const gridSignal = await readGridHours(pool, [zone], start - HOUR_MS, start + 2 * HOUR_MS);
  const issued = more.map((each, i) => {
    const startedAt = start + 60_000 + i;
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
const load = async (grams: number, ...more: string[]) => {
  const path = join(directory, `${hours}-${grams}.csv`);
  const hour = new Date(start).toISOString().slice(0, 19).replace('T', ' ');
  writeFileSync(
    path,
    `Datetime (UTC),Country,Zone name,Zone id,Carbon intensity gCO₂eq/kWh (direct),Carbon intensity gCO₂eq/kWh (Life cycle),Data estimated\n${hour},France,France,FR,10,${grams},false\n`,
  );
  const act = ['--json'];
  return runDocket(['factors', 'import', path, '--zone', zone, ...act, ...more], {
    DATABASE_URL: database.url,
  });
};
const hourOf = ({ measurement }: ReceiptDocument) =>
  measurement!.used.find(({ type }) => type === 'GridFactor');
const due = async (): Promise<number> =>
  (await database.pool.query('select from grid_hour_due')).rowCount!;

describe('the factor of the hour', () => {
  it(
    'an hour that is imported revises the receipts of the tier enterprise that were issued before, once, and again when it is corrected',
    { tags: ['receipts.hourly-factors'] },
    async () => {
      const [early, plain] = await issue({}, { tier: 'audit' });
      expect(hourOf(early!)).toBeUndefined();
      const { code, stdout } = await load(55.5);
      expect([code, JSON.parse(stdout)]).toMatchObject([
        0,
        { zones: zone, hours: 1, new_hours: 1 },
      ]);
      const { version } = JSON.parse(stdout) as { version: string };
      await revise();
      await lab.integrate();
      await revise();
      expect(await due()).toBe(0);
      expect(events.rows.map(({ supersedes }) => supersedes)).toEqual([
        early!.id.split('/').at(-1),
      ]);
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
    },
  );

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

  it(
    'an hour that was imported stands on receipts issued after; both verifiers find their packs good, and say what the gas is by hour and by year',
    { tags: ['receipts.hourly-factors'] },
    async () => {
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
      // 42 g of the hour, and the zone's year beside it: a pack of the cleanest hours alone says both.
      const both =
        /factors of hours.*\bFRA, 3 receipts: (\S+) kgCO2e of electricity by hour, (\S+) by year\..*operator.*“Electricity Maps”/;
      const [, byHour, byYear] = both.exec(said.python) ?? [];
      expect(both.exec(said.typescript)?.slice(1).map(Number)).toEqual(
        [byHour, byYear].map(Number),
      );
      const { rows } = await database.pool.query<{ kwh: string }>(
        `select sum(energy_kwh)::text as kwh from ledger_body b
         where convert_from(body, 'UTF8') like '%"hour":%' and not exists (select from ledger_body n where n.supersedes = b.entry_id)`,
      );
      const annual = newestFactorSet().grid.find(({ id }) => id === zone)!.gwp_kgco2e_per_kwh;
      expect(Number(byYear)).toBeCloseTo(Number(rows[0]!.kwh) * annual, 10);
      expect(byHour).not.toBe(byYear);
    },
  );

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
    ];
    for (const [text, rule] of rules)
      expect(() => parseHourlyFactors(text, { zone, provider: 'p', signal: 's' })).toThrow(rule);
    expect(() =>
      parseHourlyFactors('zone,hour,gwp_kgco2e_per_kwh\nFRA,2026-11-20T13:00:00Z,0.04\n', {}),
    ).toThrow(/provider/);
  });
});
