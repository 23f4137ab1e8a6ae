/** The tamper matrix: both verifiers over every row, and docs/tampering.md says what each of them found. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EXIT_CODES, WORDS } from '#cli/verify/verdicts.ts';
import { packSaid } from '#cli/verify/pack-words.ts';
import { written } from '#cli/verify/said.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { isDeep, sample } from '#test/support/depth.ts';
import { SCRIPT_GOOD, verifyWithPython } from '#test/support/pack-script.ts';
import { startTamperLab, steady } from './tamper-lab.ts';
import { argumentsOf, demandsOf, forgeRow } from './forge-row.ts';
import { type Tampering, tamperings } from './tamper-rows.ts';

const lab = await startTamperLab();
const rows = tamperings(lab);
const didJson = readFileSync(lab.trust, 'utf8');
const tsaTrust = readFileSync(lab.authority, 'utf8');
async function judged(
  path: string,
  { flags = [], witnesses }: Pick<Tampering, 'flags' | 'witnesses'> = {},
) {
  const ours = await verifyPack(path, {
    didJson,
    tsaTrust,
    requireAnchor: flags.includes('--require-anchor'),
    requireTimestamp: flags.includes('--require-timestamp'),
    requireReleasedMethodology: flags.includes('--require-released-methodology'),
    ...demandsOf(lab, witnesses),
    now: Date.now(),
  });
  const more = ['--tsa-trust', lab.authority, ...flags, ...argumentsOf(lab, witnesses)];
  const python = await verifyWithPython(path, lab.trust, more);
  return { ours, python, alone: () => verifyWithPython(path, lab.trust, more, 'alone') };
}

describe('the packs that are tampered with', () => {
  it.each(['whole', 'range'] as const)(
    '%s: both verifiers find it good, its time checked',
    async (name) => {
      const flags = ['--require-anchor', '--require-timestamp'] as const;
      const { ours, python, alone } = await judged(lab[name], { flags });
      expect(await alone()).toEqual(python);
      expect([ours.code, ours.message]).toEqual(['good', expect.anything()]);
      expect([python.code, python.output]).toEqual([0, expect.stringMatching(SCRIPT_GOOD)]);
      const [{ time } = { time: null }] = ours.timestamps;
      expect(python.output).toContain(`checked: ${ours.timestamps[0]!.authority}: ${time}`);
    },
  );

  it('without trusted keys both say that the issuer is unknown, and neither states a time that it has not checked', async () => {
    const ours = await verifyPack(lab.whole, { now: Date.now() });
    const python = await verifyWithPython(lab.whole, null);
    expect(ours.verdict).toBe('intact');
    expect([python.code, python.output]).toEqual([
      3,
      expect.stringMatching(/^INTACT, ISSUER UNKNOWN, except NOT CHECKED: page, lineage {2}/),
    ]);
    expect(ours.timestamps.map(({ time }) => time)).toEqual([null]);
    expect(python.output).toContain('1 timestamps were not checked');
    expect(python.output).not.toContain('timestamp of the anchor');
  });
});

describe('verify.py where the program openssl is not there', () => {
  const script = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;
  const trusted = ['--trust', lab.trust, '--tsa-trust', lab.authority];
  const pathless = `
import os, runpy, sys
os.environ['PATH'] = '/nonexistent'
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')`;
  const without = (...flags: string[]): { status: number | null; stdout: string } =>
    spawnSync('python3', ['-c', pathless, script, lab.whole, ...trusted, ...flags], {
      encoding: 'utf8',
    });

  it('says that timestamps were not checked, and why, and cannot judge where one is required', () => {
    const { status, stdout } = without();
    expect([status, stdout]).toEqual([
      0,
      expect.stringContaining(
        '1 timestamps were not checked: the program openssl is not there, and timestamps are checked with it\n',
      ),
    ]);
    expect(stdout).not.toContain('timestamp of the anchor, checked');
    expect(without('--require-timestamp')).toMatchObject({
      status: 2,
      stdout: expect.stringMatching(/^CANNOT JUDGE {2}the program openssl is not there/) as unknown,
    });
  });
});

const PAGE = new URL('../../docs/tampering.md', import.meta.url).pathname;
const titleOf = ({ name, powers }: Pick<Tampering, 'name' | 'powers'>): string =>
  `${name} (${powers})`;
/** The cells of each row, by its title: as the page has them, then as they were found. */
const cells = new Map(
  [...readFileSync(PAGE, 'utf8').matchAll(/^\| (.*) \| (.*) \| (.*) \| (.*) \|$/gm)].map(
    ([, ...four]) => [`${four[0]} (${four[1]})`, four],
  ),
);
/** Each check finds something with any of the powers; a row that the page has not is a kind of its own. */
const kindOf = (row: Tampering): string => {
  const [, powers, ours] = cells.get(titleOf(row)) ?? [];
  return ours === undefined ? titleOf(row) : `${powers}: ${ours}`;
};

const UNVERIFIED_KIND = 'the kind of key is not verified here';

describe('the tamper matrix', () => {
  it('has rows that differ', () => {
    const names = rows.map(titleOf);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(120);
  });

  it.each(sample(rows, kindOf).map((row) => [titleOf(row), row] as const))('%s', async (_, row) => {
    const path = await forgeRow(lab, row);
    const { ours, python, alone } = await judged(path, row);
    // Every sixth row, in quick runs every thirtieth, and those where signatures decide, also where Python has no package for them.
    if (rows.indexOf(row) % (isDeep ? 6 : 30) === 0 || /sign|revoked/i.test(row.name)) {
      const bare = await alone();
      // Without the package it says that it cannot verify keys of one kind, and may then find something else.
      if (!bare.output.includes(UNVERIFIED_KIND)) expect(bare).toEqual(python);
    }
    const cell = (isBad: boolean, by: string, passes: string | undefined): string =>
      isBad ? by : `no: ${passes}`;
    cells.set(titleOf(row), [
      row.name,
      row.powers,
      cell(ours.verdict === 'bad', ours.code, row.passes?.ours),
      cell(
        python.code === 1 || row.unchecked !== undefined,
        row.unchecked === undefined
          ? steady(python.output.replace(`BAD  ${path}: `, '').trimEnd())
          : `NOT CHECKED: ${row.unchecked}`,
        row.passes?.python,
      ),
    ]);
    const said = [ours.message, python.output].join('\n');
    expect([ours.verdict === 'bad', python.code === 1], said).toEqual([
      row.passes?.ours === undefined,
      row.passes?.python === undefined && row.unchecked === undefined,
    ]);
    if (row.unchecked !== undefined) {
      expect(python).toEqual({ code: 0, output: expect.stringMatching(SCRIPT_GOOD) as unknown });
      expect(python.output.split('  ')[0]).toContain(row.unchecked);
      return;
    }
    if (row.says !== undefined) {
      const words = packSaid(ours, { trusted: 'did.json', file: path, script: '' });
      expect(written(words)).toMatch(row.says);
      expect(python.output).toMatch(row.says);
    }
    const word = WORDS[ours.verdict];
    if (row.passes === undefined) {
      expect(python.output.startsWith(`${word}  `), said).toBe(true);
      expect(python.code).toBe(EXIT_CODES[ours.verdict]);
    }
  });

  it('docs/tampering.md says what was found (if not: npm run test:deep -- test/packs/tampering.test.ts -u)', async () => {
    const all = rows.map((row) => cells.get(titleOf(row))!);
    const table = all.map((row) => `| ${row.join(' | ')} |`).join('\n');
    const refuse = (column: number): number =>
      all.filter((row) => !/^(no|NOT CHECKED):/.test(row[column]!)).length;
    const left = all.filter((row) => row[3]!.startsWith('NOT CHECKED:')).length;
    await expect(
      `${HEAD}\n${LEFT_TO_OPERATORS}\n## What was tried\n\n${all.length} tamperings: \`docket verify\` refuses ${refuse(2)} of them, \`verify.py\` ${refuse(3)}. ${left} are of what \`verify.py\` does not look at, as the first words of its verdict say; the others that pass are marked with the reason.\n\n| tampering | powers | \`docket verify\` | \`verify.py\` |\n| --- | --- | --- | --- |\n${table}\n`,
    ).toMatchFileSnapshot(PAGE);
  });
});

/** What no verifier can see, and what would show it. */
const LEFT_TO_OPERATORS = `## What an operator can still do

An operator can tell the service what is not so, and have it sign that. Both verifiers find such a pack good: it is evidence of what was said. Forged packs are in the [last table](#what-was-tried).

| lie at the source | what the pack says of it | what would show it |
| --- | --- | --- |
| another zone of the grid than the machines are in | zone and region of each receipt, and the factor by digest | a contract with the data centre; latency from known places |
| a batch that is never reached | the stated batch; not T2 where memory cannot hold it, or nothing says whether it does (T3) | the server’s own metrics; a meter |
| fewer GPUs than serve a model | the stated number; not T2 where their memory does not hold the weights | an inventory; a meter, whose accelerators are named in what \`docket receipts metered\` prints |
| a PUE or water use that is too good | the stated figure, in the derivation record; which evidence the operator names for it, or that there is none | that file, by its digest (\`--evidence\`); the operator’s audited annual figures |
| factors of its own | which values differ from those released, in the first lines; \`--require-released-methodology\` refuses it | the source that is cited |
| only the cleanest days imported (of a day without all its hours none counts) | each receipt’s factor, of the hour or annual, with the digest of the file; page and both verdicts say how many receipts have an hour and how many have not, and give the sum by hours and by annual factors | the provider’s file of the whole year: days without hours of their own are those that were left out |
| hours that are no hours of the provider | who is named as the provider, and how many receipts have an hour that is further from the year than zones are from the world | the provider’s file, by its digest |
| fewer joules than were used, within the bounds of physics | class TS, in the first lines: no meter confirms it | a meter; the electricity bill |
| a meter that sees too few accelerators | the digest of the interval; its record names the devices | the sum of all intervals held against the electricity bill |
| fewer tokens than were used, above one for 128 bytes | \`usageSource\`: \`upstream\` | the upstream’s invoice (\`docket reconcile\`); counting an answer that a caller kept |
| requests that failed left out of the ledger | how many have a receipt that says \`failed\`, and nothing of others | the upstream’s invoice; the receipt that the error names (\`x-receipt-id\`), and \`GET /v1/requests\` of the caller |
| only some requests metered, or restated | which revisions there are, and why each says that it came | the endpoint’s intervals, which are without a gap where none was left out |
| another reason for a revision than it had, such as a new methodology that is the old one | the reason, and what either receipt names and states | the two receipts side by side |
| requests that do not go through the service | nothing | the upstream’s invoice; the electricity bill |

And one who has every key, the anchor’s too:

| what is done | what would show it |
| --- | --- |
| another history of the same name and size, wholly anchored | a cosignature of a witness that saw the first (\`--witness-policy\`); a checkpoint or a receipt that someone kept |
| a request taken out, or a complete one rewritten as refused, degraded or never revised, before anything was anchored | the receipt that the caller holds |
| receipts made later for a time that is over | the first lines, where the receipt was signed more than a day after its request ended; the anchor’s timestamps, which are by authorities that are not the operator’s (\`--require-timestamp\`) |
| receipts made for a time to come, so that they count in a later month | a timestamp of the anchor that is earlier than receipts under it: verifiers state both, and do not compare them |
| a revision dated before the receipt that it revises | both times, on the two receipts, which verifiers do not compare; the order of the ledger, which they do |
| requests invented, or said to go on from one that they did not | the caller’s own records; the upstream’s invoice |
`;

const HEAD = `# What tampering is found

This page says what a forger can do to an [evidence pack](evidence-pack.md), and what each of the two verifiers answers: \`docket verify\` by the code of its check, \`verify.py\` in its words (numbers shown as n). Both had the issuer's keys (\`--trust\`) and the authority's certificate (\`--tsa-trust\`). [A test](../test/packs/tampering.test.ts) writes the page, and fails when a verifier finds something else.

\`verify.py\` is for those who have not our program. It checks the archive, signatures, the ledger, the anchor, timestamps, figures, totals and tables. Two things it does not make again: the page for people (\`data/report/report.html\`), and what lineage documents tell beside the way to the figures. So it says of every pack that it finds good: \`GOOD, except NOT CHECKED: page, lineage\`. To rest on the page or on a lineage document, run \`docket verify\`.

**A declared loss** lets an operator drop the last entries of a ledger that were published, and say so ([what it is](ledger.md#a-declared-loss)). Both verifiers name it in the first lines of every verdict on a pack from then on. They refuse a later tree of a ledger without the statements that lead to it, an altered statement, and one that does not keep what goes on ([a test](../test/packs/declared-loss.test.ts)). A pack cannot show whether a statement names all that was published. A head, a proof or a pack of the closed tree that someone has kept shows that, and to the operator's own workers what Redis remembers.

What the forger has, in the column of powers:

- **none**: the pack alone, with all checksums made anew;
- **pack key**: also the key that seals;
- **receipt and checkpoint keys**: those two, and not the one that seals;
- **all but the anchor**: every key but the anchor's, and nothing of what others hold;
- **every key**: the issuer itself, which still has not the keys of witnesses.
`;
