/** What a pack says beside its receipts: declared inputs with their evidence, how totals answer to them, packs of before. */
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { derivationPath, REPORT_PAGE, REPORT_STATEMENT } from '#shared/packs/layout.ts';
import type { Evidence } from '#shared/packs/report/statement.ts';
import { parseDerivation, wholeMeasurement } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { statedInputs } from '#shared/receipts/reread.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import { STATES_NOTHING } from '#test/support/packs.ts';
import type { OperatorStatement } from '#workers/exports/operator-statement.ts';
import { METHODOLOGIES } from './corpus.ts';
import {
  directory,
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

const CONTENT = 'the building’s meters';
const paper = (input: Evidence['input'], of: string): Evidence => ({
  file: `${input}.pdf`,
  input,
  of,
  says: 'as measured',
  sha256: hash('sha256', CONTENT),
});

async function packed(operator: Partial<OperatorStatement>): Promise<string> {
  const path = newPath();
  const [{ count }] = (await lab.pool.query<{ count: string }>('select count(*) from ledger_entry'))
    .rows as [{ count: string }];
  const range = { firstIndex: FIRST, lastIndex: LAST, checkpointSize: Number(count) };
  await lab.pack(path, range, { operator: { ...STATES_NOTHING, ...operator } });
  return path;
}

/** The text of a page's section, cell by cell. */
function section(path: string, title: string): string {
  const page = new ForgedPack(path).text(REPORT_PAGE);
  const text = page.slice(page.indexOf(`<h2>${title}</h2>`)).split('</section>')[0]!;
  return text
    .replaceAll(/<[^>]+>/g, '|')
    .replaceAll(/\|+/g, '|')
    .replaceAll('\u00a0', ' ');
}

describe('evidence of what is declared', () => {
  it('both verifiers and the page say which inputs have some and which have none; what concerns no receipt of the pack is not named', async () => {
    const path = await packed({
      evidence: [paper('pue', 'example'), paper('batch', 'a-model-of-others')],
    });
    const words =
      '5 inputs by the word of the operator; evidence is named for 1: “pue of example: pue.pdf”; for 4 there is none: “batch of llama-3.1-8b”, “gpus of llama-3.1-8b”, “wue of example”, “zone of eu-west”';
    const ours = await runDocket(['verify', path, '--trust', TRUST]);
    expect(ours.stdout).toContain(words);
    expect(ours.stdout).toMatch(/evidence +NOT CHECKED: ask for the files/);
    const theirs = await verifyWithPython(path, TRUST);
    expect(theirs.output).toContain(`declared inputs: ${words}`);
    expect(theirs.output).toContain('evidence: NOT CHECKED');
    const page = section(path, 'Declared inputs');
    expect(page).toContain(
      `Power usage effectiveness|example|1.12|as measured (pue.pdf, |${hash('sha256', CONTENT)}|)`,
    );
    expect(page).toContain('Grid zone|eu-west|FRA|none');
    expect(page).not.toContain('a-model-of-others');
  });

  it('a file is held against the digests that the pack names', async () => {
    const path = await packed({ evidence: [paper('pue', 'example')] });
    const [named, other] = ['named.pdf', 'other.pdf'].map((name) => join(directory, name));
    writeFileSync(named!, CONTENT);
    writeFileSync(other!, 'another');
    const args = ['verify', path, '--trust', TRUST, '--evidence', named!];
    const same = await runDocket(args);
    expect(same).toMatchObject({ code: 0 });
    expect(same.stdout).toMatch(/evidence +“.*named\.pdf”, by SHA-256 among the files/);
    const refused = await runDocket([...args, '--evidence', other!, '--json']);
    expect(refused).toMatchObject({ code: 1 });
    expect(JSON.parse(refused.stdout)).toMatchObject({ code: 'evidence_mismatch' });
  });

  it('a file that a pack names for what its receipts do not take is refused by both', async () => {
    const path = await forge((pack) => {
      const stated = JSON.parse(pack.text(REPORT_STATEMENT)) as object;
      const evidence = [paper('pue', 'exampIe')];
      pack.set(REPORT_STATEMENT, canonicalJson({ ...stated, evidence }));
    }, 'seal');
    await expectRefused(path, 'report_mismatch');
  });

  it('what cannot be read as a file is said by its name, and nothing is judged', async () => {
    for (const [name, why] of [
      [directory, 'is not a file'],
      [join(directory, 'nowhere.pdf'), 'There is no file'],
    ] as const) {
      const { code, stdout } = await runDocket(['verify', GOOD_PACK, '--evidence', name]);
      expect([code, stdout]).toEqual([2, expect.stringContaining(name) as unknown]);
      expect(stdout).toContain(why);
    }
  });
});

describe('words of others in the first lines of a verdict', () => {
  it('do not close the quotes that they stand in, by either verifier', async () => {
    const path = await packed({ name: 'Bakery”, confirmed by the register, “x' });
    const words = "“Bakery', confirmed by the register, 'x”, the word of whoever sealed";
    expect((await runDocket(['verify', path, '--trust', TRUST])).stdout).toContain(words);
    expect((await verifyWithPython(path, TRUST)).output).toContain(words);
  });
});

type Figures = Record<'energy' | 'gwp' | 'water', number>;

/** What all receipts of a pack that count come to, each estimated again with another site. */
function estimatedAgain(
  pack: ForgedPack,
  change: (input: EstimateInput) => EstimateInput,
): Figures {
  const lines = [...pack.files.keys()]
    .filter((path) => /^data\/(?:receipts|revisions)\//.test(path))
    .flatMap((path) => pack.text(path).trimEnd().split('\n'));
  const all = lines.map((line) => JSON.parse(line) as ReceiptDocument);
  const revised = new Set(all.map(({ wasRevisionOf }) => wasRevisionOf?.id));
  const sums: Figures = { energy: 0, gwp: 0, water: 0 };
  for (const { id, measurement } of all) {
    if (measurement === undefined || revised.has(id)) continue;
    const whole = wholeMeasurement(measurement, (digest) =>
      parseDerivation(pack.text(derivationPath(digest)), digest),
    );
    const input = change(rebuildInput(statedInputs(whole)));
    for (const { name, value } of METHODOLOGIES.current.estimate(input).results) {
      if (name in sums) sums[name as keyof Figures] += value;
    }
  }
  return sums;
}

describe('the sensitivity of the totals', () => {
  const pack = new ForgedPack(GOOD_PACK);
  const text = section(GOOD_PACK, 'Declared inputs');
  const percent = (now: number, before: number): string => {
    const digits = (Math.abs(now / before - 1) * 100).toFixed(1);
    const sign = digits === '0.0' ? '' : now < before ? '−' : '+';
    return `${sign}${digits} %`;
  };
  const site = (change: Partial<EstimateInput['site']>) => (input: EstimateInput) => ({
    ...input,
    site: { ...input.site, ...change },
  });
  const before = estimatedAgain(pack, (input) => input);

  it.each([
    ['Power usage effectiveness|example|− 10 %', site({ pue: 1.12 * 0.9 })],
    ['Power usage effectiveness|example|+ 10 %', site({ pue: 1.12 * 1.1 })],
    ['Water on site, L per kWh|example|+ 10 %', site({ wue: 0.18 * 1.1 })],
  ])('%s is what estimating every receipt again comes to', (row, change) => {
    const now = estimatedAgain(pack, change);
    const cells = (['energy', 'gwp', 'water'] as const).map((name) =>
      percent(now[name], before[name]),
    );
    expect(text).toContain(`${row}|${cells.join('|')}|`);
  });

  it('the batch is halved and doubled where it is declared, and the first receipt of a derivation stands for the rest', () => {
    const now = estimatedAgain(pack, (input) => {
      const { batch, ...footprint } = input.model.footprint as { batch: number };
      return { ...input, model: { ...input.model, footprint: { ...footprint, batch: batch * 2 } } };
    });
    const [energy] = /Concurrent requests per replica\|llama-3.1-8b\|doubled\|−([\d.]+) %/
      .exec(text)!
      .slice(1)
      .map(Number);
    expect(Math.abs(energy! - (1 - now.energy / before.energy) * 100)).toBeLessThan(5);
  });
});

describe('for how long packs are kept', () => {
  it('is what the operator has set, on the page', async () => {
    const path = await packed({ keptDays: 400 });
    expect(section(path, 'For disclosures')).toContain('keeps one for 400 days');
    const didJson = readFileSync(TRUST, 'utf8');
    expect(await verifyPack(path, { didJson, now: Date.now() })).toMatchObject({ code: 'good' });
  });
});
