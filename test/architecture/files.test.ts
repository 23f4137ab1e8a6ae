import { constants, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROLES, SETTINGS } from '#shared/config/settings.ts';
import { ROOT, type SourceFile, sourceFiles } from './source-files.ts';

const files = sourceFiles();
const production = files.filter(({ path }) => !/^(test|lab)\//.test(path));

function pathsWhere(among: readonly SourceFile[], test: (file: SourceFile) => boolean): string[] {
  return among.filter(test).map(({ path }) => path);
}

describe('every file', () => {
  it('every file has a name that says what is in it', () => {
    const vague = /(^|\/)(utils?|helpers?|common|services?|misc|stuff)(\/|\.ts$)/;
    expect(pathsWhere(files, ({ path }) => vague.test(path))).toEqual([]);
  });

  it('rows of SQL have the type that their statement declares, or kysely’s, never one that is only claimed', () => {
    const product = production.filter(({ path }) => !path.startsWith('dev/'));
    const claimed = /\.query<|\bsql<[^`]*>`[^`]*`\s*\.execute\(/;
    expect(pathsWhere(product, ({ text }) => claimed.test(text))).toEqual([]);
  });

  it('no file holds a note to self', () => {
    const note = /\b(TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b/;
    expect(pathsWhere(files, ({ text }) => note.test(text))).toEqual([]);
  });
});

describe('entry points', () => {
  it('the Procfile starts one entry point for each role', () => {
    const procfile = readFileSync(join(ROOT, 'Procfile'), 'utf8').trim().split('\n');
    const started = procfile.map((line) => /^([a-z]+): node (\S+)$/.exec(line) ?? []);
    expect(new Set(started.map(([, name]) => name))).toEqual(new Set([...ROLES, 'release']));
    expect(started.filter(([, , file]) => !existsSync(join(ROOT, file ?? '-')))).toEqual([]);
  });

  it('npx can run the command line', () => {
    const path = join(ROOT, 'cli/start.js');
    expect(readFileSync(path, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(statSync(path).mode & constants.S_IXUSR).not.toBe(0);
  });
});

describe('the environment', () => {
  it('the environment is read in one file', () => {
    const readers = pathsWhere(production, ({ text }) => /\bprocess\.env\b/.test(text));
    expect(readers.filter((path) => path !== 'shared/config/config.ts')).toEqual([]);
  });

  it('every setting is read somewhere', () => {
    const users = production.filter(({ path }) => !/^(shared\/config|dev)\//.test(path));
    const isRead = (field: string): boolean =>
      users.some(({ text }) => new RegExp(`\\b${field}\\b`).test(text));
    expect(Object.keys(SETTINGS).filter((field) => !isRead(field))).toEqual([]);
  });
});

describe('files directly in a subject', () => {
  it('files directly in a subject read no clock, no randomness and nothing from outside', () => {
    const impure =
      /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.|\bprocess\.|\bfetch\(/;
    const outside = /^shared\/(config|process)\/|\/(postgres|redis|http|sockets|files|system)\//;
    const pure = production.filter(({ path }) => path.startsWith('shared/') && !outside.test(path));
    const code = ({ text }: SourceFile): string => text.replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '');
    expect(pathsWhere(pure, (file) => impure.test(code(file)))).toEqual([]);
  });
});

describe('tests', () => {
  const tests = files.filter(({ path }) => path.startsWith('test/'));

  it('no test is focused, skipped or left to do', () => {
    const parked = /\b(it|test|describe|suite)(\.\w+)*\.(only|skip|todo|skipIf|runIf|fails)\b/;
    expect(pathsWhere(tests, ({ text }) => parked.test(text))).toEqual([]);
  });

  it('hooks are told by test files, not by modules that several of them share a process with', () => {
    const hook = /^(before|after)(All|Each)\(/m;
    const shared = tests.filter(
      ({ path }) => !/\.test\.ts$|support\/(set-up|each-file)/.test(path),
    );
    expect(pathsWhere(shared, ({ text }) => hook.test(text))).toEqual([]);
  });

  it('no test sleeps', () => {
    // A turn of the event loop is no sleep, and the only thing that a test has of the timers that are awaited.
    const sleeping =
      /await (delay|sleep)\(|setTimeout\(\s*(resolve|r|done)\b|(?<!^import \{ setImmediate as turn \} from 'node:)timers\/promises/m;
    // Two files may: one looks again and again for what is awaited, one how late this machine is.
    const others = tests.filter(({ path }) => !/^test\/support\/(until|control)\.ts$/.test(path));
    expect(pathsWhere(others, ({ text }) => sleeping.test(text))).toEqual([]);
  });

  it('every test file is where a project of the test runner finds it', () => {
    const found =
      /^test\/(unit|architecture|docs|stores|workers|api|cli|embedded|product|pipeline|packs|faults|browser|programs|scale)\/.+\.test\.ts$/;
    const lost = (path: string): boolean => path.endsWith('.test.ts') && !found.test(path);
    expect(pathsWhere(files, ({ path }) => lost(path))).toEqual([]);
  });
});
