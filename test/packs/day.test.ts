/** One day of every kind of receipt: all who add it up come to the same, to the digit. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { fieldLines } from '#cli/print.ts';
import { packReport, packSaid } from '#cli/verify/pack-words.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { toDecimalString } from '#shared/kernel/decimal.ts';
import { encodeUlid } from '#shared/kernel/ids.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';
import { createMeteringStore } from '#shared/metering/postgres/metering.ts';
import { hourAt } from '#shared/methodology/grid-hour.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import { addGridHours } from '#shared/methodology/postgres/grid-hour-imports.ts';
import { readGridHours } from '#shared/methodology/postgres/grid-hours.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { REPORT_PAGE, TOTALS_TABLE } from '#shared/packs/layout.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { createHourStore } from '#shared/receipts/postgres/hour-store.ts';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { reviseHours } from '#workers/recalculation/hours.ts';
import { settleMeters } from '#workers/recalculation/metering.ts';
import { recalculate } from '#workers/recalculation/recalculate.ts';
import { issueReceipt } from '#workers/receipts/issue.ts';
import { openEdge } from '#test/support/app.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  catalogue,
  inferenceRecord,
  mendedCatalogue,
  methodology,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';
import { integrateAll } from '#test/support/ledger.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import { ORG, PackLab } from '#test/support/packs.ts';
import { recalculateDeps, revisionDeps, seenEvents } from '#test/support/recalculating.ts';
import { ForgedPack } from './tampering.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-day-'));
const lab = new PackLab(database.pool, directory);
const edge = await openEdge(database.poolAs('docket_api', 2));
const key = edge.keyFor(ORG);
/** Over its time: five days ago, in UTC. */
const DAY = Math.floor(Date.now() / DAY_MS) * DAY_MS - 5 * DAY_MS;
const zoneOf = (region: string) => catalogue.regions.find(({ code }) => code === region)!.zone;
/** Of one zone all hours come, one of them after its receipts; of the other three. */
const [WHOLE, IN_PART] = ['eu-west', 'us-east'] as const;
const ENDPOINT = 'metered';
let made = 0;
let size: number;

/** A request of an hour of the day. */
function request(hour: number, more: Partial<InferenceRecord> = {}): InferenceRecord {
  made += 1;
  const startedAt = DAY + hour * HOUR_MS + 60_000 * (made % 50);
  const requestId = `req_${encodeUlid(startedAt, Buffer.from(String(made).padStart(10, '0')))}`;
  return {
    ...inferenceRecord({
      requestId,
      orgId: ORG,
      startedAt,
      endedAt: startedAt + 2_000 + made,
      usage: {
        inputTokens: 90 + made,
        cachedInputTokens: made % 7,
        outputTokens: 13 + ((made * made) % 400),
        source: 'upstream',
      },
    }),
    upstreamMs: 1_900,
    ...more,
  };
}

async function issue(records: readonly InferenceRecord[]): Promise<string[]> {
  const pools = receiptPools(database);
  const zones = [WHOLE, IN_PART].map(zoneOf);
  const range = { fromMs: DAY, toMs: DAY + DAY_MS };
  const gridSignal = await readGridHours(pools.receipts, { zones, ...range, nowMs: DAY });
  const rows = records.map((record) => {
    const deps = { issuer: lab.issuer, signer: () => lab.signer(), now: Date.now, gridSignal };
    const { estimate } = methodology;
    return issueReceipt({ ...deps, estimate, catalogue: () => catalogue }, record).row;
  });
  await createReceiptStore(pools.receipts).commit(rows);
  await integrateAll(pools.ledger);
  return rows.map(({ receiptId }) => receiptId);
}

const load = (region: string, hours: readonly number[], version: string) =>
  addGridHours(database.poolAs('docket_operator', 1), systemSurroundings, {
    version,
    factors: hours.map((hour) => ({
      zone: zoneOf(region),
      hour: hourAt(DAY + hour * HOUR_MS),
      provider: `Provider of ${region}`,
      signal: 'life cycle',
      gwpKgco2ePerKwh: 0.031 + hour / 1_000,
    })),
    by: { actor: { kind: 'operator', id: 'test' } },
  });

const signal = () => AbortSignal.timeout(60_000);
const events = seenEvents();

beforeAll(async () => {
  const pools = receiptPools(database);
  const pool = database.poolAs('docket_recalculation', 3);
  const worker = { ...revisionDeps(pool, () => lab.signer()), methodology, events };
  await load(
    WHOLE,
    Array.from({ length: 23 }, (_, hour) => hour),
    'first',
  );
  await load(IN_PART, [3, 4, 5], 'some');
  const metered = request(11, { meteredEndpoint: ENDPOINT, queuedMs: 50 });
  const ids = await issue([
    ...[1, 5, 23, 23].map((hour) => request(hour)),
    ...[3, 4, 9].map((hour) => request(hour, { region: IN_PART })),
    ...[6, 7].map((hour) => request(hour, { region: IN_PART, tier: 'audit' })),
    ...[8, 9, 10].map((hour) => request(hour, { model: UNSIZED, tier: 'audit_plus' })),
    metered,
  ]);
  const { responseDigest: _, ...asked } = request(12);
  const { responseDigest: _other, ...other } = request(13, { region: IN_PART });
  await issue([
    { ...asked, attempts: 2, outcome: 'failed', failure: 'upstream_timeout' },
    { ...other, attempts: 1, outcome: 'failed', failure: 'upstream_error' },
    (({ responseDigest: _digest, ...rest }) => rest)(
      request(14, { outcome: 'refused', policy: { version: '2026-11-01', rule: 'a' } }),
    ),
  ]);
  const degraded = ids.slice(9, 12);
  const mended = recalculateDeps(pool, lab.signer(), mendedCatalogue());
  await recalculate(mended, degraded[0]!);
  await integrateAll(pools.ledger);
  // A meter that was read five seconds before its request and after it.
  const store = createMeteringStore(pool);
  for (const [at, energyUj] of [
    [metered.startedAt - 5_000, '1000000000'],
    [metered.endedAt + 5_000, '1900000000'],
  ] as const)
    await store.addReading(ENDPOINT, { at, accelerators: { gpu: { energyUj, labels: {} } } });
  const [first] = catalogue.endpoints;
  const meter = {
    url: 'http://127.0.0.1:9/metrics',
    labels: {},
    energyMetric: 'e',
    energyUnit: 'J',
    powerMetric: 'p',
    powerUnit: 'W',
  } as const;
  const endpoints = [{ ...first!, name: ENDPOINT, meter }];
  await settleMeters(
    {
      ...worker,
      catalogue: () => ({ ...catalogue, endpoints }),
      store,
      askMeter: async () => 'no_accelerator',
      newSalt: () => 'AAECAwQFBgcICQoLDA0ODw',
      settleMs: 0,
    },
    signal(),
  );
  await integrateAll(pools.ledger);
  // The last hour of one zone comes late; the other's day stays without most of its hours.
  await load(WHOLE, [23], 'late');
  await database.pool.query(`update grid_hour_due set due_from = due_from - interval '1 hour'`);
  const hours = createHourStore(pool);
  await reviseHours({ ...worker, catalogue: () => catalogue, hours }, signal());
  size = await lab.integrate();
});

/** A sum by hand: decimals as whole numbers of the smallest place that any of them has. */
function sumOf(texts: readonly string[]): string {
  const places = Math.max(0, ...texts.map((text) => text.split('.')[1]?.length ?? 0));
  const total = texts
    .map((text) => {
      const [whole = '', fraction = ''] = text.split('.');
      return BigInt(whole + fraction.padEnd(places, '0'));
    })
    .reduce((sum, each) => sum + each, 0n);
  const digits = String(total).padStart(places + 1, '0');
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '');
  return digits.slice(0, digits.length - places) + (fraction === '' ? '' : `.${fraction}`);
}

function productOf(one: string, other: string): string {
  const [places, others] = [one, other].map((text) => text.split('.')[1]?.length ?? 0);
  const digits = String(BigInt(one.replace('.', '')) * BigInt(other.replace('.', '')));
  const at = places! + others!;
  const padded = digits.padStart(at + 1, '0');
  return `${padded.slice(0, padded.length - at)}.${padded.slice(padded.length - at)}`;
}

/** Factors of hours make long products: their sums are stated to twelve digits. */
const twelve = (text: string): string => toDecimalString(Number(text));

it('of a day with failed, degraded, refused, metered, hourly and revised receipts the report, its table, GET /usage, both verifiers and a sum by hand say the same to the digit, and what is covered is of all that ran', async () => {
  const path = join(directory, 'day.zip');
  await lab.pack(path, { firstIndex: 0, lastIndex: size - 1, checkpointSize: size });
  const pack = new ForgedPack(path);

  // By hand, from the receipts' own bytes.
  const lines = pack.text(pack.shard('receipts')).trimEnd().split('\n');
  const all = lines.map((line) => JSON.parse(line) as ReceiptDocument);
  expect(all).toHaveLength(size);
  const revised = new Set(all.map(({ wasRevisionOf }) => wasRevisionOf?.id));
  const current = all.filter(({ id }) => !revised.has(id));
  const kinds = (documents: readonly ReceiptDocument[]) =>
    Map.groupBy(documents, ({ revisionReason = 'first' }) => revisionReason);
  expect([...kinds(all)].map(([reason, each]) => [reason, each.length])).toEqual([
    ['first', 16],
    ['methodology_failed', 1],
    ['measured', 1],
    ['hourly_factor', 2],
    ['hours_incomplete', 2],
  ]);
  const covered = current.filter(({ measurement }) => measurement !== undefined);
  const outcome = (name: string) =>
    current.filter(({ credentialSubject }) => credentialSubject.outcome === name);
  const uncovered = current.filter(({ degradation }) => degradation !== undefined);
  const [failed, refused] = [outcome('failed'), outcome('refused')];
  expect(covered.length + uncovered.length + failed.length + refused.length).toBe(current.length);
  const tokens = (of: readonly ReceiptDocument[], name: 'inputTokens' | 'outputTokens') =>
    of.reduce((sum, { credentialSubject }) => sum + (credentialSubject[name] ?? 0), 0);
  const hand = {
    requests: current.length,
    covered: covered.length,
    uncovered: uncovered.length,
    failed: failed.length,
    refused: refused.length,
    input_tokens: tokens([...covered, ...uncovered], 'inputTokens'),
    uncovered_output_tokens: tokens(uncovered, 'outputTokens'),
    ...Object.fromEntries(
      Object.entries(QUANTITY_UNITS).flatMap(([kind, unit]) =>
        (['value', 'lower', 'upper'] as const).map((end) => [
          `${kind}_${unit.toLowerCase()}${end === 'value' ? '' : `_${end}`}`,
          sumOf(
            covered.map(
              ({ measurement }) =>
                measurement!.result.find(({ quantityKind }) => quantityKind === kind)![end],
            ),
          ),
        ]),
      ),
    ),
  };
  expect(hand).toMatchObject({ covered: 11, uncovered: 2, failed: 2, refused: 1 });
  const qualities = covered.map(({ measurement }) => measurement!.dataQuality);
  expect(qualities.filter((each) => each === 'T1')).toHaveLength(1);

  // The table of the report, and usage by place in the ledger and by the day of the requests.
  const [header = '', total = ''] = pack.text(TOTALS_TABLE).split('\r\n');
  const columns = header.split(',');
  const table = Object.fromEntries(total.split(',').map((each, i) => [columns[i], each]));
  const named = (stated: Record<string, unknown>) =>
    Object.fromEntries(Object.keys(hand).map((name) => [name, String(stated[name])]));
  expect(named(table)).toEqual(named(hand));
  const day = new Date(DAY).toISOString().slice(0, 10);
  const next = new Date(DAY + DAY_MS).toISOString().slice(0, 10);
  for (const query of [
    `first_index=0&last_index=${size - 1}`,
    `from=${day}T00:00:00Z&to=${next}T00:00:00Z`,
  ]) {
    const usage = (await edge.get(`/usage?${query}&group_by=model`, key)).json();
    expect(named(usage.total), query).toEqual(named(hand));
  }

  // Both verifiers, and the page.
  const didJson = lab.documents.didDocument();
  const trust = join(directory, 'did.json');
  writeFileSync(trust, didJson);
  const verdict = await verifyPack(path, { didJson, now: Date.now() });
  expect([verdict.code, verdict.message]).toEqual(['good', expect.any(String)]);
  const { facts, details } = packSaid(verdict, { trusted: '', file: path, script: '' });
  const ours = fieldLines(facts) + fieldLines(details);
  const { code, output: theirs } = await verifyWithPython(path, trust);
  expect(code).toBe(0);
  const page = pack.text(REPORT_PAGE);
  const counts = `${hand.covered} with an estimate, ${hand.uncovered} without, ${hand.failed} failed, ${hand.refused} refused`;
  for (const text of [ours, theirs]) expect(text).toContain(counts);
  for (const [kind, unit] of Object.entries(QUANTITY_UNITS)) {
    const amounts = named(hand);
    const [value, lower, upper] = ['', '_lower', '_upper'].map(
      (end) => amounts[`${kind}_${unit.toLowerCase()}${end}`],
    );
    expect(ours).toContain(`${value} ${unit} (${lower} to ${upper})`);
    expect(theirs).toContain(`${kind}: ${value} ${unit} [${lower}–${upper}]`);
    expect(page).toContain(`<strong title="${value}">`);
  }
  // 11 of the 13 that ran and did not fail; of the 15 for which an upstream was called.
  expect(page).toContain(
    '<strong>84.6 %</strong><span>11 of 13 requests; with those that failed 73.3 %',
  );
  expect(page).toContain(
    'Of the 15 requests for which an upstream was called, 11 have an estimate: 73.3 %.',
  );

  const gasOf = (documents: readonly ReceiptDocument[]) =>
    documents.reduce((sum, { measurement }) => sum + Number(measurement!.result[1]!.value), 0);
  const primary = gasOf(covered.filter(({ measurement }) => measurement!.dataQuality === 'T1'));
  expect(page).toContain(
    `AR 46(g)): ${((primary / gasOf(covered)) * 100).toFixed(1)} % of the greenhouse gas is of energy that was metered`,
  );

  // The sums by hours and by years; of the day that is not whole no receipt has its hour any more.
  const hourly = covered.flatMap(({ measurement }) => {
    const record = measurement!.used.find(({ type }) => type === 'GridFactor')?.record;
    const energy = measurement!.result[0]!.value;
    return record === undefined ? [] : [{ energy, record }];
  });
  expect(new Set(hourly.map(({ record }) => record['zone']))).toEqual(new Set([zoneOf(WHOLE)]));
  const year = newestFactorSet().grid.find(({ id }) => id === zoneOf(WHOLE))!.gwp_kgco2e_per_kwh;
  const [zone] = (packReport(verdict, '') as { claims: { hours: Record<string, string>[] } }).claims
    .hours;
  expect(zone).toMatchObject({
    zone: zoneOf(WHOLE),
    providers: [`Provider of ${WHOLE}`],
    receipts_by_hour: hourly.length,
    energy_kwh: twelve(sumOf(hourly.map(({ energy }) => energy))),
    days_in_part: 0,
    receipts_out_of_range: 0,
  });
  const gas = (factorOf: (at: number) => string) =>
    twelve(sumOf(hourly.map(({ energy }, at) => productOf(energy, factorOf(at)))));
  expect([zone!['by_hour_kg'], zone!['by_year_kg']]).toEqual([
    gas((at) => String(hourly[at]!.record['gwp_kgco2e_per_kwh'])),
    gas(() => String(year)),
  ]);
  const both = `${zone!['by_hour_kg']} kgCO2e of electricity by hour, ${zone!['by_year_kg']} by year`;
  for (const text of [ours, theirs]) expect(text).toContain(both);
  expect(page).toContain(`title="${zone!['by_hour_kg']}"`);
  expect(page).toContain(`title="${zone!['by_year_kg']}"`);
});
