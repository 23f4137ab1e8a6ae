import { expect, it } from 'vitest';
import { reportedEntry, ReportFacts } from '#shared/packs/report/facts.ts';
import { reportPage } from '#shared/packs/report/page.ts';
import { countedReceipt, PackTotals } from '#shared/packs/totals.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { INPUTS } from '#test/unit/receipts/samples.ts';

/** What the report of these receipts says of its coverage, and in its summary. */
function said(kinds: readonly string[]): string {
  const [facts, totals] = [new ReportFacts(), new PackTotals()];
  for (const kind of kinds) {
    const document = buildReceipt(INPUTS[kind]!);
    const counted = countedReceipt(document);
    facts.take(reportedEntry(document, counted, undefined), true);
    totals.add(counted);
  }
  const page = reportPage({
    name: 'a pack',
    losses: [],
    issuer: 'did:web:gateway.example',
    stated: {
      contracts: [],
      earlier: [],
      evidence: [],
      keptDays: 7,
      operator: {},
      organisation: {},
    },
    organisation: 'https://gateway.example/organisations/org_a',
    log: 'gateway.example/log/org_a',
    range: { firstIndex: 0, lastIndex: kinds.length - 1, checkpointSize: kinds.length },
    requested: undefined,
    at: '2026-11-20T09:38:06.007Z',
    receipts: kinds.length,
    revisions: 0,
    superseded: 0,
    totals,
    facts,
    years: new Map(),
  });
  const part = (title: string): string =>
    page.slice(page.indexOf(`<h2>${title}</h2>`)).split('</section>')[0]!;
  return (part('Totals') + part('Coverage')).replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
}

const WHOLE = 'Every request that ran has an estimate.';

it.each<[readonly string[], readonly string[], readonly string[]]>([
  [['full', 'refused'], [WHOLE, '100.0 %', '1 of 1 requests'], ['with those that failed']],
  [
    ['full', 'failed', 'refused'],
    [
      'Every request that ran and did not fail has an estimate.',
      '1 request failed after an upstream had been called',
      'Of the 2 requests for which an upstream was called, 1 have an estimate: 50.0 %',
      '3 requests: 1 with an estimate, 0 without, 1 failed',
      '100.0 %',
      'with those that failed 50.0 %',
    ],
    [WHOLE],
  ],
  [['failed'], ['No request ran that did not fail.', 'none ran'], [WHOLE]],
  [
    ['refused'],
    ['No request ran.', 'none ran'],
    [WHOLE, 'failed after an upstream had been called:'],
  ],
  [
    ['full', 'degraded', 'failed', 'failed'],
    ['2 requests failed', '1 requests have no estimate', '50.0 %', 'with those that failed 25.0 %'],
    [WHOLE],
  ],
])('the report of %j says what is covered with and without what failed', (kinds, says, saysNot) => {
  const text = said(kinds);
  for (const sentence of says) expect(text).toContain(sentence);
  for (const sentence of saysNot) expect(text).not.toContain(sentence);
});
