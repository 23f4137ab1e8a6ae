import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { readList, readNumbers, readOptions } from '../../../bench/support/arguments.ts';

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

it('a page that is none is said before anything is started, and ends the screenshots with 2', async () => {
  const args = [join(tmpdir(), 'never-made'), 'overview', 'nothing'];
  const [code, told] = await new Promise<[unknown, string]>((resolve) => {
    const program = [join(ROOT, 'test/screenshots/main.ts'), ...args];
    execFile(process.execPath, program, (error, _stdout, stderr) => {
      resolve([error?.code, stderr]);
    });
  });
  expect(told).toMatch(/^There is no page nothing\. There are landing, [^\n]+\n$/);
  expect(code).toBe(2);
});
