import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Meter } from '#shared/catalogue/catalogue.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { encodeUlid } from '#shared/kernel/ids.ts';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { askMeter } from '#shared/metering/http/meter-client.ts';
import { forgetMetered } from '#shared/metering/postgres/forget.ts';
import { createMeteringStore } from '#shared/metering/postgres/metering.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { type MeteringDeps, readMeters, settleMeters } from '#workers/recalculation/metering.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import {
  catalogue,
  commitReceipts,
  inferenceRecord,
  mendedCatalogue,
  methodology,
  UNSIZED,
} from '#test/support/issuing.ts';
import { expectGoodPack } from '#test/support/good-pack.ts';
import { ORG, PackLab } from '#test/support/packs.ts';
import { revisionDeps, seenEvents } from '#test/support/recalculating.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-metering-'));
const lab = new PackLab(database.pool, directory);
const OTHER = 'org_01JD0A8N5K3M7Q2T9VXB4C6DEH';

/** A stand-in exporter of two accelerators of known energy, which says at what time it took its samples. */
const exporter = { at: 0, mj: [0, 0], up: true };
const server = createServer((_request, response) => {
  response.statusCode = exporter.up ? 200 : 503;
  const samples = exporter.mj.map(
    (mj, gpu) =>
      `DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="${gpu}",UUID="GPU-${gpu}",Hostname="replay"} ${mj} ${exporter.at}`,
  );
  response.end(`# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n${samples.join('\n')}\n`);
});
let meter: Meter;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  meter = {
    url: `http://127.0.0.1:${port}/metrics`,
    labels: { Hostname: 'replay' },
    energyMetric: 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION',
    energyUnit: 'mJ',
    powerMetric: 'DCGM_FI_DEV_POWER_USAGE',
    powerUnit: 'W',
  };
});
afterAll(() => void server.close());

let endpoint: string;
let start: number;
let made = 0;
let events: ReturnType<typeof seenEvents>;
beforeEach(() => {
  made += 1;
  endpoint = `metered-${made}`;
  events = seenEvents();
  start = Date.now() - 60_000;
  exporter.at = start;
  exporter.mj = [1_000_000, 2_000_000];
  exporter.up = true;
});

const deps = (more: Partial<MeteringDeps> = {}): MeteringDeps => {
  const pool = database.poolAs('docket_recalculation', 3);
  const [first] = catalogue.endpoints;
  // What runs on a machine with a meter needs no size of the model, but a share of the machine.
  const models = mendedCatalogue({ gpus: 2 }).models;
  return {
    ...revisionDeps(pool, () => lab.signer()),
    catalogue: () => ({ ...catalogue, models, endpoints: [{ ...first!, name: endpoint, meter }] }),
    store: createMeteringStore(pool),
    methodology,
    askMeter: (asked) => askMeter(asked, undefined),
    newSalt: () => 'AAECAwQFBgcICQoLDA0ODw',
    settleMs: 0,
    events,
    ...more,
  };
};
/** Ten seconds pass in which the accelerators draw so much. */
const pass = async (watts: readonly number[], ms = 10_000): Promise<void> => {
  exporter.at += ms;
  exporter.mj = exporter.mj.map((mj, gpu) => mj + watts[gpu]! * ms);
  await readMeters(deps());
};
const settle = (more: Partial<MeteringDeps> = {}) =>
  settleMeters(deps(more), AbortSignal.timeout(60_000));
const request = (
  fromS: number,
  toS: number,
  more: Partial<InferenceRecord> = {},
): InferenceRecord => {
  made += 1;
  const startedAt = start + fromS * 1_000;
  const requestId = `req_${encodeUlid(startedAt, Buffer.from(String(made).padStart(10, '0')))}`;
  const upstreamMs = (toS - fromS) * 1_000 - 100;
  return {
    ...inferenceRecord({ requestId, orgId: ORG, startedAt, endedAt: startedAt + upstreamMs + 100 }),
    queuedMs: 100,
    upstreamMs,
    meteredEndpoint: endpoint,
    ...more,
  };
};
const issue = async (...records: InferenceRecord[]): Promise<string[]> => {
  const ids = await commitReceipts(database.pool, lab.signer(), records);
  await lab.integrate();
  return ids;
};
const intervals = async (): Promise<
  { energyUj: string; idleUj: string; requests: { receipt: string; energyUj: string }[] }[]
> => {
  const { rows } = await database.pool.query<{ body: Buffer }>(
    'select body from metered_record where endpoint = $1 and energy_uj is not null order by from_at',
    [endpoint],
  );
  return rows.map(
    ({ body }) => JSON.parse(body.toString()) as Awaited<ReturnType<typeof intervals>>[number],
  );
};
const states = async (): Promise<string[]> => {
  const { rows } = await database.pool.query<{ state: string }>(
    'select state from metered_request where endpoint = $1 order by receipt_id',
    [endpoint],
  );
  return rows.map(({ state }) => state);
};
const revised = (id: string): ReceiptDocument =>
  JSON.parse(events.rows.find(({ supersedes }) => supersedes === id)!.text) as ReceiptDocument;
const joules = (id: string): number => {
  const used = revised(id).measurement!.used[0] as { record: Record<string, string> };
  return Number(used.record['measured_joules']) * Number(used.record['attempts']);
};

describe('a meter', () => {
  it('a meter measures every receipt of its endpoint, of every organisation; shares and idle energy add up to what it counted [receipts.metered]', async () => {
    await readMeters(deps());
    const unsized = request(1, 4, { model: UNSIZED, upstreamModel: UNSIZED });
    const ids = await issue(
      request(2, 8),
      request(3, 25, { orgId: OTHER, attempts: 2 }),
      unsized,
      request(21, 24),
    );
    for (const watts of [
      [400, 300],
      [500, 100],
      [300, 200],
      [60, 60],
    ])
      await pass(watts);
    await settle();
    const found = await intervals();
    expect(found.map(({ energyUj }) => Number(energyUj) / 1e6)).toEqual([
      7_000, 6_000, 5_000, 1_200,
    ]);
    for (const { energyUj, idleUj, requests } of found) {
      const sum = requests.reduce((all, each) => all + BigInt(each.energyUj), BigInt(idleUj));
      expect(sum).toBe(BigInt(energyUj));
    }
    expect(events.rows).toHaveLength(4);
    const idle = found.reduce((sum, { idleUj }) => sum + Number(idleUj) / 1e6, 0);
    const attributed = ids.reduce((sum, id) => sum + joules(id), 0);
    expect(attributed + idle).toBeCloseTo(19_200, 6);
    for (const id of ids) {
      const receipt = revised(id);
      expect(receipt).toMatchObject({
        revisionReason: 'measured',
        revisionNumber: 1,
        measurement: {
          dataQuality: 'T1',
          metered: { digest: expect.stringMatching(/^uEi/) as string },
        },
      });
      expect(JSON.stringify(receipt).length).toBeLessThan(3_600);
      for (const other of ids)
        if (other !== id) expect(JSON.stringify(receipt)).not.toContain(other);
    }
    expect(await states()).toEqual(ids.map(() => 'measured'));
    // What it says is run twice, and at the same time.
    await Promise.all([settle(), settle()]);
    expect(events.rows).toHaveLength(4);
  });

  it('both verifiers find packs with measured receipts good, and make their lineage again', async () => {
    await readMeters(deps());
    await issue(request(2, 8), request(3, 9, { attempts: 3 }));
    await pass([400, 300]);
    await settle();
    await expectGoodPack(lab, directory);
  });

  it('operators find the record of an interval by the digest on a receipt, and compare estimates with measurements', async () => {
    await readMeters(deps());
    const [id, over] = await issue(request(2, 8), request(5, 15));
    await pass([400, 300]);
    await pass([400, 300]);
    await settle();
    const docket = (...args: string[]) =>
      runDocket(['receipts', ...args], { DATABASE_URL: database.url });
    for (const [receipt, type] of [
      [id, 'MeteredInterval'],
      [over, 'MeteredSpan'],
    ] as const) {
      const { metered } = revised(receipt!).measurement as { metered: { digest: string } };
      const { stdout, code } = await docket('metered', metered.digest);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ type, endpoint });
      const digest = Buffer.concat([Buffer.from([0x12, 0x20]), hash('sha256', stdout, 'buffer')]);
      expect(metered.digest).toBe(`u${digest.toString('base64url')}`);
    }
    expect((await docket('metered', 'uEiNothing')).code).toBe(1);
    // All that receipts of a pack name, and the intervals of spans, under their digests.
    await expectGoodPack(lab, directory);
    const out = join(directory, endpoint);
    const pack = join(directory, 'whole.zip');
    const written = await docket('metered', '--pack', pack, '--out', out);
    expect(written).toMatchObject({ code: 0, stderr: '' });
    const files = readdirSync(out);
    for (const file of files)
      expect(file).toBe(`${multihashOfContent(readFileSync(join(out, file)))}.json`);
    const records = files.map((file) => readFileSync(join(out, file), 'utf8'));
    const parts = records.flatMap(
      (text) => (JSON.parse(text) as { intervals?: string[] }).intervals ?? [],
    );
    const named = [id, over].map((each) => revised(each!).measurement!.metered!.digest);
    expect(files).toEqual(
      expect.arrayContaining([...named, ...parts].map((each) => `${each}.json`)),
    );
    const { stdout } = await docket('accuracy', '--json');
    const row = (JSON.parse(stdout) as { endpoint: string }[]).find(
      (each) => each.endpoint === endpoint,
    )!;
    expect(row).toMatchObject({ model: 'llama-3.1-8b', requests: 2, within_interval: 0 });
    const kwh = [id, over].reduce(
      (sum, each) => sum + Number(revised(each!).measurement!.result[0]!.value),
      0,
    );
    expect((row as unknown as { measured_kwh: number }).measured_kwh).toBeCloseTo(kwh, 12);
  });

  it('requests keep their estimates where a counter began anew while they ran, or where they came after their interval was settled', async () => {
    await readMeters(deps());
    await pass([400, 300]);
    exporter.up = false;
    await pass([400, 300]);
    exporter.up = true;
    exporter.mj = [0, 0];
    await pass([400, 300], 1_000);
    await pass([400, 300]);
    await issue(request(8, 12), request(22, 30));
    await settle();
    // A counter began anew between 10 s and 21 s; the second ran in what was metered.
    expect(await states()).toEqual(['unmeasured', 'measured']);
    await issue(request(23, 29));
    await pass([400, 300]);
    await settle();
    expect(await states()).toEqual(['unmeasured', 'measured', 'unmeasured']);
    expect(events.rows).toHaveLength(1);
  });

  it('a process that dies between a revision and the note of it measures nothing twice', async () => {
    await readMeters(deps());
    await issue(request(2, 8));
    await pass([400, 300]);
    const store = deps().store;
    const dying = { ...store, measured: () => Promise.reject(new Error('killed')) };
    await expect(settle({ store: dying })).rejects.toThrow('killed');
    expect(await states()).toEqual(['attributed']);
    await lab.integrate();
    await settle();
    expect(await states()).toEqual(['measured']);
    expect(events.rows).toHaveLength(1);
  });

  it('who ran is forgotten when the time for it is over, once it is settled; intervals stay', async () => {
    await readMeters(deps());
    await issue(request(1, 3));
    await pass([100, 100]);
    await settle();
    await readMeters(deps());
    await issue(request(12, 14));
    expect(await states()).toEqual(['measured', 'waiting']);
    const purge = database.poolAs('docket_purge', 1);
    const records = await intervals();
    expect(records).toHaveLength(1);
    await forgetMetered(purge, new Date(start), 1_000);
    expect(await states()).toEqual(['measured', 'waiting']);
    const { requests } = await forgetMetered(purge, new Date(start + 3_600_000), 1_000);
    expect(requests).toBeGreaterThan(0);
    expect(await states()).toEqual(['waiting']);
    expect(await intervals()).toEqual(records);
    await expect(purge.query('select org_id from metered_request')).rejects.toThrow(
      /permission denied/,
    );
  });

  it('a meter that cannot be reached, or that has no accelerator of the endpoint, is reported', async () => {
    const seen: string[] = [];
    const more = {
      events: { ...events, meterFailed: (_: string, why: string) => void seen.push(why) },
    };
    exporter.up = false;
    await readMeters(deps(more));
    exporter.up = true;
    meter = { ...meter, labels: { Hostname: 'elsewhere' } };
    await readMeters(deps(more));
    meter = { ...meter, labels: { Hostname: 'replay' } };
    expect(seen).toEqual(['unreachable', 'no_accelerator']);
  });
});
