/** One range of a ledger has the same totals everywhere: in the seal, the tables and the report of its pack, and in GET /usage. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { InferenceRecord, Usage } from '#shared/kernel/inference.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import { REPORT_PAGE, TOTALS_TABLE } from '#shared/packs/layout.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { recalculate } from '#workers/recalculation/recalculate.ts';
import { openEdge } from '#test/support/app.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  inferenceRecord,
  issueReceipts,
  mendedCatalogue,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';
import { integrateAll } from '#test/support/ledger.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import { ORG, PackLab } from '#test/support/packs.ts';
import { recalculateDeps } from '#test/support/recalculating.ts';
import { ForgedPack } from './tampering.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-totals-'));
const lab = new PackLab(database.pool, directory);
const edge = await openEdge(database.poolAs('docket_api', 2));
const key = edge.keyFor(ORG);
const DAY = 86_400_000;
const AMOUNTS = Object.entries(QUANTITY_UNITS).flatMap(([name, unit]) => {
  const column = `${name}_${unit.toLowerCase()}`;
  return [column, `${column}_lower`, `${column}_upper`];
});
let size: number;
/** What became of the recalculations. */
const outcomes: string[] = [];
/** Where a receipt lies that a revision in the ledger's middle revises. */
let revisedAt: number;

/** Requests of three months, two regions, models of which one has no estimate, failures and refusals. */
function recordOf(i: number): InferenceRecord {
  const startedAt = Date.UTC(2026, 8, 1, 12) + (i % 75) * DAY;
  const usage: Usage = {
    inputTokens: 90 + i,
    cachedInputTokens: i % 7,
    outputTokens: 13 + ((i * i) % 400),
    source: 'upstream',
  };
  const record = inferenceRecord({
    requestId: newId('req', startedAt),
    orgId: ORG,
    model: ['llama-3.1-8b', 'llama-3.3-70b', UNSIZED][i % 3]!,
    region: i % 2 === 0 ? 'eu-west' : 'us-east',
    startedAt,
    endedAt: startedAt + 900 + i,
    usage,
  });
  const { responseDigest: _, ...asked } = record;
  if (i % 13 === 1)
    return { ...asked, attempts: 2, outcome: 'failed', failure: 'upstream_timeout' };
  if (i % 11 !== 0) return record;
  return { ...asked, outcome: 'refused', policy: { version: '2026-11-01', rule: 'a' } };
}

beforeAll(async () => {
  const pools = receiptPools(database);
  const pool = database.poolAs('docket_recalculation', 1);
  const worker = recalculateDeps(pool, lab.signer(), mendedCatalogue());
  const issue = (from: number) =>
    issueReceipts(
      pools,
      lab.signer(),
      Array.from({ length: 40 }, (_, i) => recordOf(from + i)),
    );
  const ids = [...(await issue(0)), ...(await issue(40))];
  // Without an estimate until now: some before the range below begins, some in it.
  for (const i of [2, 5, 41]) outcomes.push(await recalculate(worker, ids[i]!));
  await integrateAll(pools.ledger);
  ids.push(...(await issue(80)));
  // The revision of one that is in the range lies after it.
  outcomes.push(await recalculate(worker, ids[47]!));
  size = await lab.integrate();
  const { rows } = await lab.pool.query<{ index: string }>(
    'select index from ledger_entry where entry_id = $1',
    [ids[2]],
  );
  revisedAt = Number(rows[0]!.index);
});

/** A table of comma-separated values as records; nothing in these is quoted. */
function recordsOf(csv: string): Record<string, string>[] {
  const [header, ...lines] = csv.trimEnd().split('\r\n');
  const columns = header!.split(',');
  return lines.map((line) =>
    Object.fromEntries(line.split(',').map((value, i) => [columns[i]!, value])),
  );
}

const pick = (record: Record<string, unknown>, names: readonly string[]): unknown[] =>
  names.map((name) => String(record[name]));

it.each([
  ['the whole ledger', () => [0, size - 1]],
  // Its first revision is of a receipt before it, and the revision of one in it comes after.
  ['a part of it that begins and ends among revisions', () => [revisedAt + 1, size - 2]],
] as [string, () => [number, number]][])(
  'seal, table, report and GET /usage say the same totals, to the digit: %s',
  async (_name, range) => {
    const [firstIndex, lastIndex] = range();
    expect(outcomes).toEqual(Array.from({ length: 4 }, () => 'recalculated'));
    const path = join(directory, `${firstIndex}.zip`);
    await lab.pack(path, { firstIndex, lastIndex, checkpointSize: size });
    const didJson = lab.documents.didDocument();
    const trust = join(directory, 'did.json');
    writeFileSync(trust, didJson);
    const verdict = await verifyPack(path, { didJson, now: Date.now() });
    expect([verdict.code, verdict.message]).toEqual(['good', expect.any(String)]);
    expect((await verifyWithPython(path, trust)).output).toMatch(/^GOOD/);

    const pack = new ForgedPack(path);
    const table = recordsOf(pack.text(TOTALS_TABLE));
    const usage = async (by: string) =>
      (
        await edge.get(
          `/usage?first_index=${firstIndex}&last_index=${lastIndex}&group_by=${by}`,
          key,
        )
      ).json();
    const { total } = await usage('month');
    const tokens = ['input_tokens', 'cached_input_tokens', 'output_tokens'];
    const counts = [
      'requests',
      'refused',
      'failed',
      'covered',
      'uncovered',
      ...tokens.flatMap((name) => [name, `uncovered_${name}`]),
    ];
    expect(total.uncovered_output_tokens).toBeGreaterThan(0);
    expect(total.covered).toBeGreaterThan(20);
    expect(total.uncovered).toBeGreaterThan(5);
    expect(pick(table[0]!, [...counts, ...AMOUNTS])).toEqual(pick(total, [...counts, ...AMOUNTS]));

    const { totals } = pack.seal().credentialSubject;
    const sealed = totals.result.flatMap(({ value, lower, upper }: Record<string, string>) => [
      value,
      lower,
      upper,
    ]);
    expect(sealed).toEqual(pick(total, AMOUNTS));
    const outcomesCounted = ['covered', 'uncovered', 'failed', 'refused'];
    expect(total.failed).toBeGreaterThan(5);
    expect(pick(totals, outcomesCounted)).toEqual(pick(total, outcomesCounted));

    const page = pack.text(REPORT_PAGE);
    for (const name of AMOUNTS.filter((_, i) => i % 3 === 0)) {
      expect(page).toContain(`<strong title="${total[name]}">`);
    }
    for (const [by, grouping] of [
      ['month', 'month'],
      ['model', 'model'],
      ['region', 'region'],
      ['data_quality', 'quality'],
    ] as const) {
      const { data } = await usage(grouping);
      const stated = table.filter((line) => line['by'] === by);
      expect(stated.map((line) => pick(line, ['name', ...counts, ...AMOUNTS]))).toEqual(
        data.map((line: Record<string, unknown>) => [
          String((line['by'] as Record<string, string>)[grouping]),
          ...pick(line, [...counts, ...AMOUNTS]),
        ]),
      );
    }

    const csv = await edge.get(
      `/usage?first_index=${firstIndex}&last_index=${lastIndex}&group_by=model&format=csv`,
      key,
    );
    expect(recordsOf(csv.text).map((line) => pick(line, ['model', ...AMOUNTS]))).toEqual(
      table.filter(({ by }) => by === 'model').map((line) => pick(line, ['name', ...AMOUNTS])),
    );
  },
);
