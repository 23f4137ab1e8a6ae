import { execFile, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';

const NAMES = ['redis-server', 'valkey-server'];

/** Path of the server's program on the PATH, or undefined. */
export async function findRedisBinary(): Promise<string | undefined> {
  const directories = (readEnvironment()['PATH'] ?? '').split(delimiter);
  for (const name of NAMES) {
    for (const directory of directories) {
      const path = join(directory, name);
      const found = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (found) return path;
    }
  }
  return undefined;
}

/**
 * The server's program; as root on Debian or Ubuntu it is installed when it is missing.
 * @param say gets a line for the person who waits.
 * @throws Error that says what to install.
 */
export async function ensureRedisBinary(say: (line: string) => void = () => {}): Promise<string> {
  const present = await findRedisBinary();
  if (present !== undefined) return present;
  if (!(await canInstall())) {
    throw new Error(
      'Redis is missing: install redis-server (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis) or valkey-server, or set REDIS_URL',
    );
  }
  say('Redis is missing: installing the package redis-server with apt-get');
  await apt(['update', '-q']);
  await apt(['install', '-q', '-y', '--no-install-recommends', 'redis-server']);
  const installed = await findRedisBinary();
  if (installed === undefined)
    throw new Error('apt-get installed redis-server, but it is not on the PATH');
  return installed;
}

/** Only a root on a Debian-like system may change it. */
export async function canInstall(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  return promisify(execFile)('apt-get', ['--version']).then(
    () => true,
    () => false,
  );
}

/**
 * Runs apt-get without questions; its words are shown only when it fails. Services of a freshly
 * installed package are not started: a server of the system's own would never be used.
 */
export async function apt(args: readonly string[]): Promise<void> {
  const env = { ...readEnvironment(), DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const child = spawn('apt-get', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString('utf8')).slice(-4_000);
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`apt-get ${args.join(' ')} failed:\n${output}`);
}
