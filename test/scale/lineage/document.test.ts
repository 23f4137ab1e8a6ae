import jsonld from 'jsonld';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#shared/kernel/canonical-json.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { lineageOf } from '#shared/lineage/of-receipt.ts';
import { shippedFactorSets } from '#shared/methodology/files/load.ts';
import { methodologiesOver } from '#shared/methodology/releases.ts';
import { forAll } from '#test/support/for-all.ts';
import { offline } from '#test/support/linked-data.ts';
import { request, requests } from '#test/unit/methodology/fixtures.ts';
import { INPUTS } from '#test/unit/receipts/samples.ts';
import {
  factsOf,
  issued,
  LEAF_INDEX,
  lineage,
  methodologies,
  signer,
} from '#test/unit/lineage/samples.ts';

const expand = async (document: object) =>
  (await jsonld.expand(document, { safe: true, documentLoader: offline, base: null })) as unknown[];

describe('a lineage document', () => {
  const measured = request({ usage: { ...request().usage, statedJoules: 81.25 } });

  it.each([
    ['of a modelled estimate', request()],
    ['of measured energy', measured],
    [
      'of an hourly grid signal',
      request({
        gridSignal: {
          hour: '2026-11-01T13:00:00Z',
          signal: 's',
          provider: 'p',
          version: '1',
          gwpKgco2ePerKwh: 0.031,
        },
      }),
    ],
    ['of an unknown site', request({ site: { operator: 'nobody' } })],
  ])('%s expands in safe mode, and loses nothing', async (_, input) => {
    const document = lineage(issued(input));
    const expanded = JSON.stringify(await expand(document));
    await jsonld.toRDF(document, { safe: true, documentLoader: offline });
    const { bibliography, measurement } = document;
    for (const { text, license } of bibliography) {
      expect(expanded).toContain(JSON.stringify(text));
      expect(expanded).toContain(JSON.stringify(license));
    }
    for (const { value, id, formula } of measurement!.steps) {
      for (const text of [value, id, formula]) expect(expanded).toContain(JSON.stringify(text));
    }
    for (const { record: content } of measurement!.used) {
      expect(expanded).toContain(JSON.stringify(content));
    }
  });

  it('links every number to those that it was computed from, and to the record that gives it', () => {
    forAll([requests], (input) => {
      const { steps } = lineage(issued(input)).measurement!;
      // Where the layout of attention is not known, one record says of both that they are nothing.
      const isKnown = steps.some(({ symbol }) => symbol === 'E_kv');
      const named = (symbol: string): string =>
        isKnown ? symbol : symbol.replace(/^E_(?:att|kv)$/, 'E_att and E_kv');
      for (const { wasDerivedFrom, reads } of steps)
        expect(wasDerivedFrom).toHaveLength(
          new Set(reads.map(({ symbol, value }) => `${named(symbol)} ${value}`)).size,
        );
    });
    // No layout of its attention is published.
    const model = { id: 'glm-5', footprint: { ref: 'glm-5' } };
    const { measurement } = lineage(issued(request({ model })));
    const { used } = measurement!;
    const source = (symbol: string, reader: string) => {
      const step = measurement!.steps.find((each) => each.symbol === reader)!;
      return step.wasDerivedFrom[step.reads.findIndex((read) => read.symbol === symbol)];
    };
    expect(source('w', 'W')).toBe(used.find(({ name }) => name === 'replica')!.id);
    expect(source('E_att', 'E_gpu')).toBe(used.find(({ type }) => type[1] === 'ModelRecord')!.id);
    const known = new Set([
      ...used.map(({ id }) => id),
      ...measurement!.hadPlan.constants.map(({ id }) => id),
      ...measurement!.used.flatMap(({ figures }) => figures.map(({ id }) => id)),
      ...measurement!.bounds.map(({ id }) => id),
      ...measurement!.steps.map(({ id }) => id),
    ]);
    const ids = measurement!.steps.map(({ id }) => id);
    for (const [at, { wasDerivedFrom, reads }] of measurement!.steps.entries()) {
      expect(wasDerivedFrom.length).toBeGreaterThan(0);
      expect(wasDerivedFrom.length).toBeLessThanOrEqual(reads.length);
      for (const from of wasDerivedFrom) {
        expect(known).toContain(from);
        // Nothing is computed from what comes after it.
        expect(ids.indexOf(from)).toBeLessThan(at);
      }
    }
  });

  it('states source, year and licence of every figure of a published record, and its warnings', () => {
    const { measurement, bibliography } = lineage(issued());
    const cited = new Map(bibliography.map(({ id, license }) => [id, license]));
    const grid = measurement!.used.find(({ type }) => type.includes('GridFactor'))!;
    expect(grid.carried).toBe(false);
    expect(grid.figures.map(({ symbol }) => symbol)).toEqual([
      'F_gwp',
      'F_adpe',
      'F_adpf',
      'F_water',
    ]);
    for (const { sources, year, unit, value } of grid.figures) {
      expect(sources!.length).toBeGreaterThan(0);
      for (const source of sources!) expect(cited.get(source)).toMatch(/\w/);
      expect(year).toMatch(/\d{4}|not stated by the source/);
      expect(unit).toMatch(/\/kWh$/);
      expect(Number(value)).toBeGreaterThan(0);
    }
    const usage = measurement!.used[0]!;
    expect(usage).toMatchObject({ carried: true, type: ['Entity', 'UsageRecord'] });
    const codes = measurement!.warnings.map(({ code }) => code);
    expect(codes).toContain('batch_assumed');
  });

  it('names the software, the methodology, the ledger and the receipt', () => {
    const bytes = issued();
    const { measurement, ledger, about, inference } = lineage(bytes);
    expect(measurement!.software).toEqual({
      type: 'SoftwareApplication',
      name: 'docket',
      version: '0.1.0',
    });
    expect(measurement!.hadPlan).toMatchObject({
      id: 'https://gateway.example/methodologies/docket-1/1.0.0',
    });
    expect(ledger).toMatchObject({
      leafIndex: LEAF_INDEX,
      generatedAt: '2026-11-20T09:38:07.412Z',
    });
    expect(about.id).toBe('https://gateway.example/receipts/rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC');
    expect(inference).toMatchObject({
      id: 'https://gateway.example/requests/req_01M7W53ZF4Z6X0T8WB5N2K9MVC',
    });
  });

  it.each(['degraded', 'refused'])(
    'of a %s receipt says why there is no measurement',
    async (kind) => {
      const bytes = Buffer.from(signer.sign(buildReceipt(INPUTS[kind]!)));
      const document = lineage(bytes, { ...factsOf(bytes) });
      await expand(document);
      expect(document.measurement).toBeUndefined();
      expect(document.degradation?.['code']).toBe(
        kind === 'degraded' ? 'model_size_unknown' : undefined,
      );
      expect(document.inference).toMatchObject({
        outcome: kind === 'refused' ? 'refused' : 'complete',
      });
    },
  );

  it('of a receipt that is not integrated yet has no place in the ledger', () => {
    const bytes = issued();
    const { leafIndex: _, ...member } = factsOf(bytes).chain[0]!;
    const document = lineage(bytes, { chain: [member] });
    expect(document.ledger).toBeUndefined();
    expect(document.revisions[0]).not.toHaveProperty('leafIndex');
  });

  it('is the same, byte for byte, whenever it is made', () => {
    const bytes = issued();
    const text = lineageOf(methodologies, bytes, factsOf(bytes));
    const anew = { ...methodologies, ...methodologiesOver(shippedFactorSets()) };
    expect(lineageOf(anew, bytes, factsOf(bytes))).toBe(text);
    const canonical = JSON.stringify(JSON.parse(text) as JsonObject);
    expect(canonical).toBe(text);
    expect(text.length).toBeLessThan(66_000);
  });
});
