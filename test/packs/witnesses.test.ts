/** Both verifiers hold a pack against the same witness policies, and say the same. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyPack } from '#cli/verify/library.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import { REPORT_PAGE } from '#shared/packs/layout.ts';
import { STATES_NOTHING } from '#test/support/packs.ts';
import { type PolicyName, startTamperLab } from './tamper-lab.ts';
import { ForgedPack } from './tampering.ts';

const lab = await startTamperLab();
const trust = { didJson: readFileSync(lab.trust, 'utf8'), source: lab.trust };

/** What each of them says of a pack under a policy. */
async function judged(
  policy: PolicyName | undefined,
  { least, pack = lab.whole }: { least?: number; pack?: string } = {},
) {
  const source = policy && lab.policies[policy];
  const ours = await verifyPack(pack, {
    trust,
    ...(source === undefined ? {} : { witnessPolicy: { content: readFileSync(source), source } }),
    ...(least === undefined ? {} : { requireWitness: least }),
  });
  const python = await verifyWithPython(pack, lab.trust, [
    ...(source === undefined ? [] : ['--witness-policy', source]),
    ...(least === undefined ? [] : ['--require-witness', String(least)]),
  ]);
  return { ours, python };
}

describe('witnesses that have cosigned', () => {
  const both =
    /a at 20\S+Z, b at 20\S+Z, pq at 20\S+Z; the quorum of \S+ is met; no cosignature of c/;
  it.each<[string, PolicyName | undefined, number | undefined, number, RegExp]>([
    [
      'no policy: counted and not called anything',
      undefined,
      undefined,
      0,
      /NOT CHECKED: 3 signatures of others/,
    ],
    ['a quorum that is met', 'two', undefined, 0, both],
    ['a quorum that is met, with the log named', 'log', undefined, 0, both],
    ['as many as are required', 'none', 2, 0, both],
    ['one missing', 'three', undefined, 1, /quorum of the policy is not met: no cosignature of c/],
    [
      'more required than have',
      'two',
      4,
      1,
      /4 witnesses were required, and 3 have cosigned: no cosignature of c/,
    ],
    [
      'more required than the policy names',
      'two',
      60,
      1,
      /60 witnesses were required, and 3 have cosigned/,
    ],
    ['one by ML-DSA-44 asked for', 'postQuantum', undefined, 0, both],
    [
      'another log',
      'otherLog',
      undefined,
      1,
      /o log of the policy is gateway\.example\/anchor, or its key is another/,
    ],
    ['a number without a policy', undefined, 1, 2, /--require-witness needs --witness-policy: /],
    [
      'a number with a policy that names none',
      'empty',
      1,
      2,
      /--require-witness needs witnesses, and \S+ names none/,
    ],
    ['no number', 'two', 0, 2, /--require-witness is a whole number from 1 to 64/],
    [
      'no policy in the file',
      'malformed',
      undefined,
      2,
      /is no witness policy: line 2: It is no verifier key/,
    ],
  ])('%s', async (_, policy, least, exitCode, said) => {
    const { ours, python } = await judged(policy, least === undefined ? {} : { least });
    expect([ours.exitCode, python.code]).toEqual([exitCode, exitCode]);
    expect(ours.text).toMatch(said);
    expect(python.output).toMatch(said);
  });

  it('where Python has no ML-DSA-44, its cosignature counts as none, and CANNOT JUDGE is said where it is needed', async () => {
    const said = async (policy: PolicyName) => {
      const python = await verifyWithPython(
        lab.whole,
        lab.trust,
        ['--witness-policy', lab.policies[policy]],
        'alone',
      );
      return [python.code, python.output];
    };
    const none =
      'no cosignature of c; of pq the kind of key is not verified here and counts as none';
    expect(await said('two')).toEqual([0, expect.stringContaining(`is met; ${none}`)]);
    expect(await said('postQuantum')).toEqual([
      2,
      `CANNOT JUDGE  the quorum of the policy is not met: ${none}\n`,
    ]);
  });

  it('two histories of one name and size: a policy accepts the one that witnesses have seen, and refuses the other', async () => {
    for (const pack of [lab.whole, lab.split]) {
      const without = await judged(undefined, { pack });
      expect([without.ours.exitCode, without.python.code]).toEqual([0, 0]);
      const { ours, python } = await judged('two', { pack });
      const expected = pack === lab.whole ? 0 : 1;
      expect([ours.exitCode, python.code]).toEqual([expected, expected]);
    }
    expect((await judged('two', { pack: lab.split })).ours.report).toMatchObject({
      code: 'witness_missing',
      message: expect.stringContaining('no cosignature of a, b, c') as unknown,
    });
  });

  it.each<[PolicyName, RegExp]>([
    [
      'two',
      /“a” at 20\S+Z, “b” at 20\S+Z, “pq” at 20\S+Z; the quorum of the operator’s own policy in the pack is met; no cosignature of “c”; name witnesses that you know with --witness-policy/,
    ],
    [
      'three',
      /NOT MET is the operator’s own policy in the pack: [Tt]he quorum of the policy is not met: no cosignature of “c”; “a” at 20\S+Z, “b” at/,
    ],
    ['otherLog', /NOT MET is the operator’s own policy in the pack: [Nn]o log of the policy is/],
    ['empty', /none has cosigned, and the operator’s own policy in the pack asks for none/],
  ])(
    'the operator’s own policy (%s) is judged where the reader gives none, and called the operator’s own',
    async (name, said) => {
      const witnessPolicy = readFileSync(lab.policies[name], 'utf8');
      const pack = join(lab.directory, `own-${name}.zip`);
      const { range, checkpoint } = new ForgedPack(lab.whole).seal().credentialSubject;
      const operator = { ...STATES_NOTHING, inventory: { baseYear: '2024 & 2025' }, witnessPolicy };
      await lab.lab.pack(pack, { ...range, checkpointSize: checkpoint.size }, { operator });
      const { ours, python } = await judged(undefined, { pack });
      expect([ours.exitCode, python.code]).toEqual([0, 0]);
      for (const text of [ours.text, python.output]) {
        expect(text).toMatch(said);
        expect(text).toMatch(/inventory.*“baseYear: 2024 & 2025”/);
      }
      // What the reader asks for goes before it.
      const { ours: theirs, python: script } = await judged('three', { pack });
      expect([theirs.exitCode, script.code]).toEqual([1, 1]);
      const page = new ForgedPack(pack).text(REPORT_PAGE);
      expect(page).toContain('<th scope="row">Base year</th><td>2024 &#38; 2025</td>');
      expect(page).toContain(`<code>${witnessPolicy.split('\n')[0]}</code>`);
    },
  );

  it('what is not a count, and options of packs for a receipt, are refused in a sentence', async () => {
    const policy = ['--witness-policy', lab.policies.two];
    const pack = ['verify', lab.whole, '--trust', lab.trust];
    const odd = await runDocket([...pack, ...policy, '--require-witness', '1e1']);
    expect([odd.code, odd.stdout]).toEqual([
      2,
      'CANNOT JUDGE  --require-witness is a whole number from 1 to 64.\n',
    ]);
    const python = await verifyWithPython(lab.whole, lab.trust, [
      ...policy,
      '--require-witness',
      '1e1',
    ]);
    expect([python.code, python.output]).toEqual([
      2,
      'CANNOT JUDGE  --require-witness is a whole number from 1 to 64\n',
    ]);
    const receipt = join(lab.directory, 'a-receipt.json');
    writeFileSync(receipt, '{}');
    const ofPacks = await runDocket(['verify', receipt, ...policy]);
    expect([ofPacks.code, ofPacks.stdout]).toEqual([
      2,
      expect.stringContaining('--witness-policy is for packs, and this is none'),
    ]);
  });
});

describe('factors of the operator’s own', () => {
  const place = (zone: string): string => `grid.${zone}.gwp_kgco2e_per_kwh`;

  it('are said with each value that differs, the release’s beside it and the source that is cited, and refused where released ones are required', async () => {
    const ours = await verifyPack(lab.own, { trust });
    const python = await verifyWithPython(lab.own, lab.trust);
    expect([ours.exitCode, python.code]).toEqual([0, 0]);
    const [fact, said] = Object.entries(ours.said.facts)[0]!;
    expect(fact).toBe('docket-1 1.0.0-2026-11-acme');
    expect(said).toMatch(
      /^factors are the operator’s, not released: uEi\S+; it differs from docket-1 1\.0\.0 in 2 values; a later release may have it/,
    );
    for (const zone of ['FRA', 'USA']) {
      expect(ours.said.facts[`  ${place(zone)}`]).toMatch(
        /^0\.0001; released: 0\.\d+; cited to .*Ember/,
      );
    }
    expect(python.output.split('\n').slice(3, 5)).toEqual([
      expect.stringMatching(
        /^factors are the operator's, not released: docket-1 1\.0\.0-2026-11-acme, uEi\S+, of 3 receipts/,
      ),
      expect.stringContaining('a later release may have it; the values of releases are not'),
    ]);
    const refused = await verifyPack(lab.own, { trust, requireReleasedMethodology: true });
    const alike = await verifyWithPython(lab.own, lab.trust, ['--require-released-methodology']);
    expect([refused.exitCode, alike.code]).toEqual([1, 1]);
    expect(refused.report).toMatchObject({ code: 'methodology_unreleased' });
    expect(alike.output).toContain('a released methodology was required');
  });

  it('those of a release pass where they are required', async () => {
    const ours = await verifyPack(lab.whole, { trust, requireReleasedMethodology: true });
    const python = await verifyWithPython(lab.whole, lab.trust, ['--require-released-methodology']);
    expect([ours.exitCode, python.code]).toEqual([0, 0]);
    expect(ours.report).toMatchObject({ unreleased_methodologies: [] });
  });
});
