import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { toDecimalString } from '#shared/kernel/decimal.ts';
import { QUANTITY_UNITS, type QuantityName } from '#shared/methodology/measurement.ts';
import { reportedEntry, ReportFacts } from '#shared/packs/report/facts.ts';
import { reportPage } from '#shared/packs/report/page.ts';
import { parseStatement } from '#shared/packs/report/statement.ts';
import { REPORT_STYLE } from '#shared/packs/report/style.ts';
import { countedReceipt, PackTotals, QUANTITIES } from '#shared/packs/totals.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { REVISION_REASONS } from '#shared/receipts/format-1.ts';
import { runs } from '#test/support/depth.ts';

const SCRIPT = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;

/** Makes the page of each line's pack: receipts, lineage documents, the seal and what is stated. */
const DRIVER = `
import base64, json, sys, types
sys.path.insert(0, sys.argv[1])
import verify
style = json.loads(sys.stdin.readline())
for line in sys.stdin:
    pack = json.loads(line)
    page, pages = verify.Page(), types.SimpleNamespace(groups={}, seal=pack['seal'], subject=pack['subject'])
    pages.pack = types.SimpleNamespace(folder=pack['folder'])
    pages.read = lambda path: pack['stated'].encode()
    pages.added_of = verify.Verifier.added_of
    pages.added = lambda wanted=lambda group: True: verify.Verifier.added_of(pages.groups, wanted)
    for receipt, counts, key in pack['entries']:
        derivation = key and base64.urlsafe_b64decode(key + '=')
        page.take(receipt, counts, derivation, verify.Verifier.count)
        if counts:
            verify.Verifier.count(receipt, pages.groups)
        if key and key in pack['lineage']:
            page.explain(derivation, pack['lineage'][key])
    print(json.dumps(page.make(pages, style)))
`;

/** Of any script, with characters beyond the first plane, quotes, tags, and longer than a chart has room for. */
const name = fc.oneof(
  fc.constantFrom('demo-large', 'eu-west', '<b>&"\'', 'ﬀ😀', `${'m'.repeat(24)}😀 and more`),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
);
const names = fc.uniqueArray(name, { minLength: 1, maxLength: 9 });
const tokens = fc.option(fc.integer({ min: 0, max: 2_000_000 }), { nil: undefined });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const time = fc
  .date({
    min: new Date('2025-11-01T00:00:00Z'),
    max: new Date('2026-11-30T23:59:59Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString());
/** A quantity of any size that a receipt may state, and of the sizes where a unit or a rounding changes. */
const quantity = fc
  .tuple(
    fc.oneof(
      fc.constant(0),
      fc
        .tuple(fc.integer({ min: 1, max: 99_999 }), fc.integer({ min: -18, max: 6 }))
        .map(([n, e]) => n * 10 ** e),
    ),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.double({ min: 1, max: 40, noNaN: true }),
  )
  .map(([value, low, high]) => ({ value, lower: value * low, upper: value * high }));
const measurement = fc.record({
  dataQuality: fc.constantFrom('T1', 'T2', 'T3', 'T4', 'T5'),
  result: fc.tuple(...QUANTITIES.map(() => quantity)).map((each) =>
    each.map(({ value, lower, upper }, i) => ({
      lower: toDecimalString(lower),
      quantityKind: QUANTITIES[i]!,
      unit: QUANTITY_UNITS[QUANTITIES[i] as QuantityName],
      upper: toDecimalString(upper),
      value: toDecimalString(value),
    })),
  ),
});
const derivationKeys = ['one', 'two', 'three'].map((each) =>
  createHash('sha256').update(each).digest('base64url'),
);

const receipt = (models: string[], regions: string[]) =>
  fc.record({
    document: fc.record({
      credentialSubject: fc.record(
        {
          startedAt: time,
          model: fc.constantFrom(...models),
          region: fc.constantFrom(...regions),
          inputTokens: tokens,
          cachedInputTokens: tokens,
          outputTokens: tokens,
        },
        { requiredKeys: ['startedAt', 'model', 'region'] },
      ),
      outcome: fc.oneof(
        { weight: 6, arbitrary: fc.record({ measurement }) },
        fc.record({ degradation: fc.record({ code: name }) }),
        fc.constant({}),
      ),
      revision: fc.constantFrom(
        {},
        ...REVISION_REASONS.map((revisionReason) => ({
          wasRevisionOf: { leafIndex: 1 },
          revisionReason,
        })),
      ),
    }),
    counts: fc.boolean(),
    derivation: fc.constantFrom(...derivationKeys),
  });

const figure = fc.record({
  name,
  symbol: fc.constantFrom('F_gwp', 'PUE', 'F_water'),
  unit: name,
  value: fc.double({ min: 0, max: 3, noNaN: true }).map(toDecimalString),
  year: fc.constantFrom('2023', '2024'),
  sources: fc.subarray(['first', 'second', 'third']),
});
/** Often more figures than a page shows. */
const lineage = fc.record({
  bibliography: fc.array(
    fc.record(
      { id: fc.constantFrom('first', 'second'), name, text: name, license: name },
      { requiredKeys: ['id', 'name', 'text'] },
    ),
    { maxLength: 3 },
  ),
  measurement: fc.record({
    hadPlan: fc.record({ name, version: fc.constantFrom('1.0.0', '1.0.0-2026-12') }),
    used: fc.array(
      fc.record({
        name,
        type: fc.constantFrom(
          ['Entity', 'GridFactor'],
          ['Entity', 'UsageRecord'],
          ['HardwareRecord'],
        ),
        carried: fc.boolean(),
        record: fc.constantFrom({}, { batch_basis: 'assumed' }, { batch_basis: 'declared' }),
        figures: fc.oneof(
          { weight: 5, arbitrary: fc.array(figure, { maxLength: 4 }) },
          fc.array(figure, { minLength: 100, maxLength: 120 }),
        ),
      }),
      { maxLength: 5 },
    ),
  }),
});

const party = fc.record({ name, identifier: name }, { requiredKeys: [] });
const whole = fc.integer({ min: 0, max: 30_000_000 });

const packs = fc.tuple(names, names).chain(([models, regions]) =>
  fc.record({
    receipts: fc.array(receipt(models, regions), { minLength: 1, maxLength: 25 }),
    lineage: fc.dictionary(fc.constantFrom(...derivationKeys), lineage),
    stated: fc.record({
      contracts: fc.uniqueArray(
        fc.record({
          kgCo2ePerKwh: fc.constantFrom('0', '0.1', '0.000000001', '999.5'),
          name,
          region: fc.constantFrom(...regions),
        }),
        { maxLength: 3, selector: ({ region }) => region },
      ),
      operator: party,
      organisation: party,
    }),
    range: fc.record({
      firstIndex: whole,
      lastIndex: whole,
      receipts: whole,
      revisions: whole,
      superseded: fc.oneof(fc.constant(0), whole),
    }),
    requested: optional(
      fc.record(
        {
          type: fc.constant('RequestedPeriod' as const),
          from: time,
          to: time,
          before: time,
          after: time,
          pending: whole,
        },
        { requiredKeys: ['type'] },
      ),
    ),
    size: whole,
    at: time,
    folder: name,
    issuer: name,
    organisation: name,
    log: name,
  }),
);

it('the script in a pack makes the page that the gateway makes, of any receipts, names and times', () => {
  const samples = fc.sample(packs, runs(150)).map((pack) => {
    const { range, requested, size, at, folder, issuer, organisation, log } = pack;
    const entries = pack.receipts.map(
      ({ document: { outcome, revision, ...rest }, counts, derivation }) => {
        const document = { ...rest, ...outcome, ...revision } as unknown as ReceiptDocument;
        return [document, counts, 'measurement' in outcome ? derivation : null] as const;
      },
    );
    const [facts, totals] = [new ReportFacts(), new PackTotals()];
    for (const [document, counts, key] of entries) {
      const counted = countedReceipt(document);
      if (counts) totals.add(counted);
      facts.take(reportedEntry(document, counted, key ?? undefined), counts);
      const explained = key === null ? undefined : pack.lineage[key];
      if (key !== null && explained !== undefined) facts.explain(key, JSON.stringify(explained));
    }
    const stated = canonicalJson(pack.stated);
    const page = reportPage({
      ...range,
      name: folder,
      issuer,
      stated: parseStatement(stated),
      organisation,
      log,
      range: { ...range, checkpointSize: size },
      requested,
      at,
      totals,
      facts,
    });
    const subject = { range, checkpoint: { log, size }, organisation, requested };
    const seal = { issuer, validFrom: at };
    const line = JSON.stringify({ entries, lineage: pack.lineage, stated, seal, subject, folder });
    return { line, page };
  });
  const input = [JSON.stringify(REPORT_STYLE), ...samples.map(({ line }) => line)].join('\n');
  const output = execFileSync('python3', ['-c', DRIVER, dirname(SCRIPT)], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const made = output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as string);
  expect(made).toHaveLength(samples.length);
  // What is written to a file is UTF-8: half a character would not come back.
  samples.forEach(({ page }, i) => expect(made[i]).toBe(Buffer.from(page).toString()));
  samples.forEach(({ page }) => expect(page.isWellFormed()).toBe(true));
});
