import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PackError } from '#shared/screening/pack.ts';
import { loadScreen, readPack } from '#shared/screening/files/load.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const folder = mkdtempSync(join(tmpdir(), 'pack-'));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const RULES = `
rules:
  - id: cakes
    code: acceptable_use_violation
    category: test
    description: for tests
    any: [{ sequence: [bake, cake], gap: 2 }]
    positive: [bake a cake]
    negative: [bake bread]
`;
const HEAD = 'format: 1\nversion: 2026-01-31\ndescription: for tests\n';
const GROUPS = 'groups: { bake: [bake], cake: [cake] }\n';

describe('a pack of several files', () => {
  it('is one pack of all their groups and rules', () => {
    write('part.yaml', RULES);
    const split = readPack(write('split.yaml', `${HEAD}include: [part.yaml]\n${GROUPS}`));
    const whole = readPack(write('whole.yaml', `${HEAD}${GROUPS}${RULES}`));
    expect(split).toEqual(whole);
  });

  it('may be written in JSON', () => {
    const { digest, ...pack } = readPack(write('whole.yaml', `${HEAD}${GROUPS}${RULES}`));
    const groups = { bake: ['bake'], cake: ['cake'] };
    const read = readPack(write('whole.json', JSON.stringify({ ...pack, groups })));
    expect([read.rules, read.groups]).toEqual([pack.rules, pack.groups]);
    expect(read.digest).not.toBe(digest);
  });

  it.each([
    ['a file of another folder', `${HEAD}include: [../part.yaml]\n`, 'include[0]'],
    ['a group defined twice', `${HEAD}include: [twice.yaml]\n${GROUPS}`, 'groups.cake'],
    ['an unknown field in a part', `${HEAD}include: [odd.yaml]\n${GROUPS}`, 'odd.yaml: version'],
    ['broken YAML', `${HEAD}groups: {\n`, 'bad.yaml:5'],
    ['a duplicate key', `${HEAD}version: 2026-02-01\n`, 'bad.yaml:4'],
    ['no object', '- 1\n', 'bad.yaml'],
    ['no rules', `${HEAD}${GROUPS}rules: {}\n`, 'rules[0]'],
  ])('is refused with its place: %s', (_, content, path) => {
    write('twice.yaml', 'groups: { cake: [gateau] }\n');
    write('odd.yaml', `version: 1\n${RULES}`);
    expect(thrownBy(PackError, () => readPack(write('bad.yaml', content)))?.path).toContain(path);
  });
});

describe('a pack that fails its own examples', () => {
  it.each([
    [
      'a positive that is not found',
      'positive: [bake a cake]',
      'positive: [bake bread]',
      'rules[0].positive[0]',
    ],
    [
      'a negative that is found',
      'negative: [bake bread]',
      'negative: [bake cake]',
      'rules[0].negative[0]',
    ],
  ])('screens nothing: %s', (_, from, to, path) => {
    const file = write('proof.yaml', `${HEAD}${GROUPS}${RULES.replace(from, to)}`);
    expect(() => loadScreen(file)).toThrow(path);
  });
});
