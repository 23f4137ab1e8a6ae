import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ConfigError } from '#shared/config/config.ts';
import { readEvidence, readInventory, readWitnessPolicy } from '#workers/exports/files/stated.ts';
import { formatVerifierKey } from '#shared/ledger/verifier-keys.ts';
import { COSIGNATURE_TYPE } from '#shared/ledger/notes.ts';

const directory = mkdtempSync(join(tmpdir(), 'docket-evidence-'));
const paper = {
  file: 'pue.pdf',
  input: 'pue',
  of: 'example',
  says: 'PUE 1.12',
  sha256: 'a'.repeat(64),
};
const read = (text: string) => {
  const path = join(directory, 'evidence.json');
  writeFileSync(path, text);
  return () => readEvidence(path);
};

it('the list that EVIDENCE names is read whole', () => {
  const contract = { ...paper, input: 'contract', vintage: '2026', volumeKwh: '1000' };
  expect(read(JSON.stringify([paper, contract]))()).toEqual([paper, contract]);
});

it.each([
  ['no JSON', '[', 'is not JSON'],
  ['no list', '{}', 'EVIDENCE'],
  ['an input that there is not', JSON.stringify([{ ...paper, input: 'offset' }]), 'input'],
  ['a digest that is none', JSON.stringify([{ ...paper, sha256: 'A' }]), 'sha256'],
  ['a member that is not known', JSON.stringify([{ ...paper, url: 'x' }]), 'url'],
  [
    'what was bought, of no contract',
    JSON.stringify([{ ...paper, volumeKwh: '1' }]),
    'of no contract',
  ],
  ['a text with a line of its own', JSON.stringify([{ ...paper, says: 'a\nb' }]), 'entry 1'],
])('a list with %s is refused when the process starts, with what is wrong', (_, text, named) => {
  expect(read(text)).toThrow(ConfigError);
  expect(read(text)).toThrow(named);
});

it('a file that is not there is refused', () => {
  expect(() => readEvidence(join(directory, 'none.json'))).toThrow(/EVIDENCE .*none\.json/);
});

const written = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

it('what INVENTORY and WITNESS_POLICY name is read whole', () => {
  const inventory = {
    consolidationApproach: 'operational control',
    restatementThresholdPercent: '5',
  };
  expect(readInventory(written('i.json', JSON.stringify(inventory)))).toEqual(inventory);
  const key = formatVerifierKey('witness.example/w', COSIGNATURE_TYPE, new Uint8Array(32));
  const policy = `# ours\nwitness w ${key}\nquorum w\n`;
  expect(readWitnessPolicy(written('policy', policy))).toBe(policy);
});

it.each([
  ['nothing in it', '{}'],
  ['a member that is not known', '{"offsets":"all"}'],
  ['a threshold that is none', '{"restatementThresholdPercent":"5 %"}'],
  ['a text that turns the direction', '{"gwpSet":"AR6 \u202eDOOG"}'],
])('an inventory with %s is refused when the process starts', (_, text) => {
  expect(() => readInventory(written('i.json', text))).toThrow(/^.*INVENTORY/s);
});

it.each([
  ['no quorum', '# none\n', /line 2/],
  ['other letters than ASCII', '# é\nquorum none\n', /no witness policy/],
  ['no newline at its end', 'quorum none', /line 1/],
])('a policy with %s is refused when the process starts', (_, text, named) => {
  const path = written('policy', text);
  expect(() => readWitnessPolicy(path)).toThrow(ConfigError);
  expect(() => readWitnessPolicy(path)).toThrow(named);
});
