import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

function run(program: string, args: readonly string[]): Promise<{ code: unknown; told: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, program), ...args], (error, _stdout, told) => {
      resolve({ code: error?.code ?? 0, told });
    });
  });
}

it.concurrent.each([
  ['bench/main.ts', ['dashboard', 'many'], 'receipts: "many" is no number above zero.'],
  ['bench/main.ts', ['usage', '10', '0'], 'runs: "0" is no number above zero.'],
  ['bench/main.ts', ['sanctions', '10', '20'], '"20" is one too many.'],
  ['bench/main.ts', ['idle', '--second', '5'], "Unknown option '--second'."],
  ['bench/main.ts', ['gateway', '--streams', '5,x'], 'streams: "x" is no number above zero.'],
  ['bench/main.ts', ['peers', '--only', 'portkey,other'], 'only: there is no other.'],
  ['bench/main.ts', ['accounts'], 'The address of a database is missing.'],
  [
    'test/screenshots/main.ts',
    [join(tmpdir(), 'never-made'), 'overview', 'nothing'],
    'There is no page nothing.',
  ],
] as const)(
  '%s %s says in one line what is wrong, and ends with 2',
  async (program, args, problem) => {
    const { code, told } = await run(program, args);
    expect(told.trimEnd().split('\n')).toEqual([expect.stringContaining(problem)]);
    expect(code).toBe(2);
  },
);
