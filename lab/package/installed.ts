import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { childEnvironment } from '#test/support/child-environment.ts';

const run = promisify(execFile);
export const ROOT = join(import.meta.dirname, '../..');
const VECTORS = join(ROOT, 'test/vectors/receipt');

/** A directory in which the package is installed, and the Node beside it. */
export interface Installed {
  directory: string;
  node: string;
  /** What Node is told. */
  options?: readonly string[];
}

/** Without what our own processes are told beside: it is for the checkout. */
const ENV = { ...childEnvironment(), NODE_OPTIONS: '' };

/** What the consumer finds when all is well. */
export const CONSUMED = {
  whole: 'good',
  streamed: 'good',
  response: 'good',
  events: 'good',
  text: true,
  /** A page of docs/, which the package therefore has. */
  guide: 200,
};

/** The standard output of `docket …` as the installed package runs it. */
export async function docket(
  { directory, node, options = [] }: Installed,
  ...args: string[]
): Promise<string> {
  const command = join(directory, 'node_modules/docket/cli/start.js');
  const { stdout } = await run(node, [...options, command, ...args], {
    cwd: directory,
    env: ENV,
  });
  return stdout;
}

/** The first line of what `docket verify` says of a receipt that is good. */
export async function verifyGoodReceipt(installed: Installed): Promise<string> {
  const files = ['receipt.json', '--trust', 'did.json'];
  const at = files.map((name) => (name.endsWith('.json') ? join(VECTORS, name) : name));
  return (await docket(installed, 'verify', ...at)).split('\n')[0]!;
}

/** Runs `docket up` until it is ready, then the consumer against it, and returns what that has found. */
export async function consume(installed: Installed): Promise<unknown> {
  const { directory, node } = installed;
  const command = join(directory, 'node_modules/docket/cli/start.js');
  const up = spawn(node, [command, 'up'], {
    cwd: directory,
    env: { ...ENV, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => up.once('close', resolve));
  try {
    const lines: string[] = [];
    for await (const line of createInterface({ input: up.stdout })) {
      lines.push(line);
      if (line.includes('Docket is ready')) break;
    }
    up.stdout.resume();
    const dev = await readFile(join(directory, '.docket/dev.json'), 'utf8').catch(() => {
      throw new Error(`docket up was not ready:\n${lines.join('\n')}`);
    });
    const { base_url, api_key } = JSON.parse(dev) as { base_url: string; api_key: string };
    const { stdout } = await run(node, ['consumer.ts', base_url, api_key], {
      cwd: directory,
      env: ENV,
    });
    const guide = await fetch(new URL('/docs/guides/receipts', base_url));
    return { ...(JSON.parse(stdout) as object), guide: guide.status };
  } finally {
    up.kill('SIGTERM');
    await ended;
  }
}
