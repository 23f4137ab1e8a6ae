import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { chosen, readArguments } from '#lab/support/arguments.ts';
import { readList, readNumbers, readOptions } from '#lab/bench/support/arguments.ts';

const ROOT = join(import.meta.dirname, '../../..');

afterEach(() => {
  vi.restoreAllMocks();
});

/** What is told before the program ends, and with which code. */
function endOf(read: () => unknown): { told: string; code: unknown } {
  let told = '';
  let code: unknown;
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told += String(text);
    return true;
  });
  vi.spyOn(process, 'exit').mockImplementation((given) => {
    code = given;
    throw new Error('ended');
  });
  expect(read).toThrow('ended');
  return { told, code };
}

const RECEIPTS = { receipts: 10, runs: 5 };

it.each([
  [
    'a word for a number',
    () => readNumbers('x', RECEIPTS, ['many']),
    'receipts: "many" is no number above zero.',
  ],
  [
    'nothing to be done',
    () => readNumbers('x', RECEIPTS, ['10', '0']),
    'runs: "0" is no number above zero.',
  ],
  ['one too many', () => readNumbers('x', RECEIPTS, ['1', '2', '3']), '"3" is one too many.'],
  [
    'a list with a word',
    () => readList('x', 'streams', '5,x'),
    'streams: "x" is no number above zero.',
  ],
  [
    'an unknown option',
    () => readOptions('x', {}, ['--second', '5']),
    "Unknown option '--second'.",
  ],
])(
  'a benchmark with %s says in one line what is wrong, and ends with 2',
  (_name, read, problem) => {
    expect(endOf(read)).toEqual({ told: `${problem} Usage: npm run bench x\n`, code: 2 });
  },
);

it('a benchmark without arguments has its defaults', () => {
  expect(readNumbers('x', RECEIPTS, ['7'])).toEqual({ receipts: 7, runs: 5 });
});

const ONES = [{ name: 'one' }, { name: 'two' }];

it.each([
  [
    'an unknown option',
    () => readArguments('npm run x\n', {}, ['--second=5']),
    "Unknown option '--second'.\n\nnpm run x\n",
  ],
  [
    'a word too many',
    () => readArguments('npm run x\n', {}, ['one']),
    "Unexpected argument 'one'.\n\nnpm run x\n",
  ],
  [
    'a name that there is not',
    () => chosen('server', ONES, ['two', 'three', 'four']),
    'There is no server three, four. There are one, two.\n',
  ],
])(
  'a suite with %s says what is wrong and how it is called, and ends with 2',
  (_name, read, told) => {
    expect(endOf(read)).toEqual({ told, code: 2 });
  },
);

it('a suite runs what was asked for in the order of its list, and everything when nothing was', () => {
  expect(chosen('server', ONES, ['two', 'one'])).toEqual(ONES);
  expect(chosen('server', ONES, undefined)).toEqual(ONES);
});

/** Each loads what it needs before it reads its arguments, which takes a second and, on a busy machine, many. */
const LOADED_MS = 60_000;

it.concurrent.each([
  [
    'lab/screenshots/main.ts',
    [join(tmpdir(), 'never-made'), 'overview', 'nothing'],
    /^There is no page nothing\. There are landing, [^\n]+\n$/,
  ],
  [
    'lab/languages/main.ts',
    ['--only', 'openia'],
    /^There is no client openia\. There are openai, [^\n]+\n$/,
  ],
  [
    'lab/programs/main.ts',
    ['--only', 'codexx'],
    /^There is no program codexx\. There are @anthropic-ai\/claude-code, [^\n]+\n$/,
  ],
  ['lab/upstreams/main.ts', ['--ony=vllm'], /^Unknown option '--ony'\.\n\nnpm run upstreams -- /],
  ['dev/check.ts', ['--chnaged'], /^Unknown option '--chnaged'\.\n\nnpm run check /],
  ['dev/check.ts', ['statics'], /^Unexpected argument 'statics'\.\n\nnpm run check /],
  [
    'dev/check.ts',
    ['static', '--changed'],
    /^static does not go with --changed\.\n\nnpm run check /,
  ],
] as const)(
  '%s called with %j ends with 2 before anything is started, and says why',
  async (program, args, problem) => {
    const [code, told] = await new Promise<[unknown, string]>((resolve) => {
      execFile(process.execPath, [join(ROOT, program), ...args], (error, _stdout, stderr) => {
        resolve([error?.code, stderr]);
      });
    });
    expect(told).toMatch(problem);
    expect(code).toBe(2);
  },
  LOADED_MS,
);
