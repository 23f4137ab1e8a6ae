/** What a pack has for people: a page and tables that say what the receipts say. */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { REPORT_PAGE, SEAL, tablePath, TOTALS_TABLE } from '#shared/packs/layout.ts';
import { createPackSource } from '#shared/packs/postgres/pack-source.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { SCRIPT_GOOD, verifyWithPython } from '#test/support/pack-script.ts';
import { ORG, STATES_NOTHING } from '#test/support/packs.ts';
import {
  exportsPool,
  expectRefused,
  FIRST,
  forge,
  GOOD_PACK,
  lab,
  LAST,
  newPath,
  TRUST,
} from './forger.ts';
import { ForgedPack } from './tampering.ts';

const table = (pack: ForgedPack): string => tablePath(pack.shard('receipts'));

/** Times of integration of entries of the lab's ledger, in epoch milliseconds. */
async function timesOf(): Promise<number[]> {
  const { rows } = await lab.pool.query<{ integrated_at: Date }>(
    'select integrated_at from ledger_entry where org_id = $1 order by index',
    [ORG],
  );
  return rows.map(({ integrated_at: at }) => at.getTime());
}

async function packOfPeriod(period: { from?: number; to?: number }) {
  const times = await timesOf();
  const { from = 0, to = Infinity } = period;
  const inside = times.flatMap((at, i) => (at >= from && at < to ? [i] : []));
  const path = newPath();
  const range = {
    firstIndex: inside[0]!,
    lastIndex: inside.at(-1)!,
    checkpointSize: times.length,
    period,
  };
  await lab.pack(path, range);
  return { path, range };
}

async function expectGood(path: string): Promise<void> {
  const didJson = readFileSync(TRUST, 'utf8');
  const verdict = await verifyPack(path, { didJson, now: Date.now() });
  expect([verdict.code, verdict.place, verdict.message]).toContain('good');
  const python = await verifyWithPython(path, TRUST);
  expect(python.output).toMatch(SCRIPT_GOOD);
}

describe('the totals of a pack', () => {
  it('seal, table and GET /usage of the same range say the same, to the digit', async () => {
    const pack = new ForgedPack(GOOD_PACK);
    const { totals } = pack.seal().credentialSubject;
    const [header, total] = pack.text(TOTALS_TABLE).split('\r\n');
    const columns = header!.split(',');
    const stated = Object.fromEntries(total!.split(',').map((value, i) => [columns[i], value]));
    for (const { quantityKind, value, lower, upper } of totals.result) {
      const name = columns.find((each) => each.startsWith(`${quantityKind}_`))!;
      expect([stated[name], stated[`${name}_lower`], stated[`${name}_upper`]]).toEqual([
        value,
        lower,
        upper,
      ]);
      expect(Number(lower)).toBeLessThan(Number(value));
      expect(Number(value)).toBeLessThan(Number(upper));
    }
    expect(Number(stated['input_tokens'])).toBe(
      totals.coveredInputTokens + totals.uncoveredInputTokens,
    );
    expect(totals.uncoveredInputTokens).toBeGreaterThan(0);
    // The lab stores receipts without summing them up, so usage is read receipt by receipt.
    const usage = await createUsageReader(lab.pool).usage({
      orgId: ORG,
      range: { firstIndex: FIRST, lastIndex: LAST },
      groupBy: ['model'],
    });
    expect(usage.total.requests).toBe(Number(stated['requests']));
  });

  it.each<[string, (pack: ForgedPack) => void]>([
    ['a total', (pack) => pack.lines(TOTALS_TABLE, (l) => l.with(1, l[1]!.replace(/\d\r?$/, '9')))],
    ['a row that is gone', (pack) => pack.lines(TOTALS_TABLE, (l) => l.slice(0, -1))],
    [
      'a figure of a receipt',
      (pack) => pack.lines(table(pack), (l) => l.with(5, `${l[5]!.slice(0, -2)}9\r`)),
    ],
    [
      'a receipt that would not count',
      (pack) => pack.lines(table(pack), (l) => l.with(5, l[5]!.replace(',1,', ',0,'))),
    ],
    [
      'a time that goes down',
      (pack) => pack.lines(table(pack), (l) => l.with(5, l[5]!.replace(/^2\d{3}/, '2001'))),
    ],
    ['a line more', (pack) => pack.lines(table(pack), (l) => [...l, l.at(-1)!])],
    ['a line less', (pack) => pack.lines(table(pack), (l) => l.slice(0, -1))],
    ['another head', (pack) => pack.lines(table(pack), (l) => l.with(0, 'integrated_at\r'))],
    ['no table', (pack) => void pack.files.delete(table(pack))],
  ])(
    'a table with %s is refused, when the pack was sealed again with the right key',
    async (_name, edit) => {
      await expectRefused(await forge(edit, 'seal'), 'report_mismatch');
    },
  );

  it.each<[string, (pack: ForgedPack) => void]>([
    ['another file', (pack) => pack.set('data/report/more.html', 'x')],
    ['no page', (pack) => void pack.files.delete(REPORT_PAGE)],
  ])('a report with %s is refused', async (_name, edit) => {
    await expectRefused(await forge(edit, 'seal'), ['extra_file', 'missing_file']);
  });

  it('a page that was changed is refused by its digest', async () => {
    const path = await forge((pack) => pack.set(REPORT_PAGE, 'x'), 'nothing');
    await expectRefused(path, 'checksum_mismatch');
  });
});

describe('a pack of a period', () => {
  it('a period is named in seal and file name, with its neighbours and what was pending', async () => {
    const times = await timesOf();
    const [from, to] = [times[FIRST]!, times.at(-1)!];
    const { path, range } = await packOfPeriod({ from, to });
    await expectGood(path);
    const pack = new ForgedPack(path);
    const { requested } = pack.seal().credentialSubject;
    expect(requested).toMatchObject({
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      after: new Date(times[range.lastIndex + 1]!).toISOString(),
    });
    expect(requested.pending).toBeGreaterThan(0);
    expect(pack.folder).toMatch(/-\d{8}T\d{9}Z-to-\d{8}T\d{9}Z-entries-\d+-\d+-at-\d+$/);
    expect(pack.text(REPORT_PAGE)).toContain('that were still pending then');
    const again = newPath();
    await lab.pack(again, range);
    expect(readFileSync(again).equals(readFileSync(path))).toBe(true);
  });

  it.each<[string, (seal: ReturnType<ForgedPack['seal']>) => void]>([
    [
      'that ends before its last entry',
      (s) => (s.credentialSubject.requested.to = s.credentialSubject.requested.from),
    ],
    [
      'whose neighbour lies in it',
      (s) => (s.credentialSubject.requested.after = s.credentialSubject.requested.from),
    ],
    ['without its neighbour', (s) => delete s.credentialSubject.requested.after],
    ['without what was pending', (s) => delete s.credentialSubject.requested.pending],
  ])(
    'a period %s is refused, when the pack was sealed again with the right key',
    async (_name, edit) => {
      const times = await timesOf();
      const { path } = await packOfPeriod({ from: times[0]!, to: times.at(-1)! });
      const pack = new ForgedPack(path);
      pack.repair(lab.signer('packs'), edit);
      const forged = newPath();
      await pack.write(forged);
      await expectRefused(forged, 'seal_contradiction');
      expect(pack.files.has(SEAL)).toBe(true);
    },
  );
});

describe('the parties of a report', () => {
  const page = async (more: Parameters<typeof lab.pack>[2] = {}): Promise<string> => {
    const path = newPath();
    const checkpointSize = (await timesOf()).length;
    await lab.pack(path, { firstIndex: FIRST, lastIndex: LAST, checkpointSize }, more);
    await expectGood(path);
    return new ForgedPack(path).text(REPORT_PAGE);
  };
  /** What stands between two texts of a page. */
  const between = (text: string, start: string, end: string): string =>
    text.slice(text.indexOf(start) + start.length).split(end)[0]!;

  it('names organisation and operator as account and settings do, as text with anything in it', async () => {
    const named = { name: 'Bakery <b>& Sons</b>', identifier: 'LEI 529900T8BM49AURSDO55' };
    const source = { ...createPackSource(lab.pool), organisation: async () => named };
    const operator = { name: '"Gateway" <i>SE</i>', identifier: 'HRB 1 & 2', ...STATES_NOTHING };
    const text = await page({ source, operator });
    for (const shown of [
      'Bakery &#60;b&#62;&#38; Sons&#60;/b&#62;',
      named.identifier,
      '&#60;i&#62;SE&#60;/i&#62;',
      'HRB 1 &#38; 2',
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).toContain('there is no market-based figure');
  });

  it('an account lends its name and identifier, by the rights of the exports process', async () => {
    const source = createPackSource(exportsPool);
    expect(await source.organisation(ORG)).toBe(null);
    await lab.pool.query(
      `insert into account (id, name, identifier, state, plan, billing_name, billing_email, technical_name,
         technical_email, created_at, state_changed_at)
       values ('org_named', 'Bakery', 'LEI 5', 'onboarding', 'audit', 'b', 'b', 't', 't', now(), now())`,
    );
    expect(await source.organisation('org_named')).toEqual({ name: 'Bakery', identifier: 'LEI 5' });
    await expect(exportsPool.query('select billing_email from account')).rejects.toThrow(
      /permission denied/,
    );
  });

  it('contracts give market-based figures: with the factor 0 nothing but the making of hardware is left', async () => {
    const contract = { region: 'eu-west', kgCo2ePerKwh: '0', name: 'wind <farm>' };
    const elsewhere = { region: 'moon', kgCo2ePerKwh: '9', name: 'of a region without requests' };
    const text = await page({ operator: { ...STATES_NOTHING, contracts: [contract, elsewhere] } });
    const made = Number.parseFloat(between(text, 'making of hardware ', ' '));
    const use = Number.parseFloat(between(text, 'Use of electricity ', ' '));
    expect(made).toBeGreaterThan(0);
    const market = Number.parseFloat(between(text, 'location-based and ', ' '));
    expect(market).toBeCloseTo(made, 6);
    const located = Number.parseFloat(between(text, 'Greenhouse gas is ', ' '));
    // Each of the three is rounded to three digits.
    expect(Math.abs(located - use - made)).toBeLessThanOrEqual(0.15);
    expect(text).toContain('wind &#60;farm&#62;');
    expect(text).not.toContain('moon');
  });
});

it('the report numbers its pages on paper, and breaks no number', () => {
  const page = new ForgedPack(GOOD_PACK).text(REPORT_PAGE);
  expect(page).toContain('counter(page) " of " counter(pages)');
  expect(page).not.toContain('\u2009');
});

it('the report loads nothing, runs nothing and shows names as text', () => {
  const page = new ForgedPack(GOOD_PACK).text(REPORT_PAGE);
  expect(page).not.toMatch(/<script|src=|href=|url\(|@import/);
  if (process.env['KEEP_REPORT']) writeFileSync(process.env['KEEP_REPORT'], page);
});
