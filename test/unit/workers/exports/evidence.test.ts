import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ConfigError } from '#shared/config/config.ts';
import { readEvidence } from '#workers/exports/files/evidence.ts';

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
  ['a text with a line of its own', JSON.stringify([{ ...paper, says: 'a\nb' }]), 'entry 1'],
])('a list with %s is refused when the process starts, with what is wrong', (_, text, named) => {
  expect(read(text)).toThrow(ConfigError);
  expect(read(text)).toThrow(named);
});

it('a file that is not there is refused', () => {
  expect(() => readEvidence(join(directory, 'none.json'))).toThrow(/EVIDENCE .*none\.json/);
});
