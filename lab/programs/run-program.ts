import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import { type Cache, NotToBeHad } from '#lab/upstreams/cache.ts';
import type { Program, Setting } from './programs.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
/** A silence of fifty seconds, and tries of its own around it. */
const TURN_MS = 150_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const OUTPUT_CHARS_MAX = 1_000_000;

/** What came of one prompt: everything that it wrote where its user looks. */
export interface Turn {
  /** Null where it did not end by itself in time. */
  code: number | null;
  output: string;
}

/**
 * Gives a program one prompt, without a terminal, as a person of whom it knows nothing.
 * @throws NotToBeHad where this machine cannot get it
 */
export async function ask(
  program: Program,
  setting: Setting,
  prompt: string,
  { signal, turnMs = TURN_MS }: { signal: AbortSignal; turnMs?: number },
): Promise<Turn> {
  const { file, args, env } = await program.command(setting, prompt);
  const child = spawn(file, args, {
    cwd: setting.work,
    env: {
      // Some are programs of the Node that is on the path.
      PATH: `${dirname(process.execPath)}:${readEnvironment()['PATH']}`,
      HOME: setting.home,
      PWD: setting.work,
      XDG_CONFIG_HOME: join(setting.home, '.config'),
      TERM: 'dumb',
      NO_COLOR: '1',
      DO_NOT_TRACK: '1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: some are a program that starts another, and both are to end.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => {
      if (output.length < OUTPUT_CHARS_MAX) output += bytes.toString();
    });
  const end = (): void => killGroup(child.pid);
  const timer = setTimeout(end, turnMs);
  signal.addEventListener('abort', end);
  const code = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
    child.once('error', () => resolve(null));
  });
  clearTimeout(timer);
  signal.removeEventListener('abort', end);
  end();
  signal.throwIfAborted();
  return { code, output };
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/** A home, and a place to work in it. */
export async function newHome(): Promise<{ home: string; work: string }> {
  const home = await mkdtemp(join(tmpdir(), 'docket-program-'));
  const work = join(home, 'work');
  await mkdir(work);
  return { home, work };
}

/**
 * The folder with a program's command; installs it when it is not there.
 * @throws NotToBeHad where its registry does not give it
 */
export async function installed(
  { name, source, version, beside = [] }: Program,
  { cache, say, signal }: { cache: Cache; say: (line: string) => void; signal: AbortSignal },
): Promise<string> {
  if (source === 'own') return join(ROOT, 'node_modules/.bin');
  if (source === 'pip') {
    const python = await cache.python({
      title: name,
      packages: [`${name}==${version}`, ...beside],
    });
    return dirname(python);
  }
  const folder = join(cache.directory, `${name.replaceAll(/\W+/g, '-')}-${version}`);
  const ready = join(folder, 'ready');
  if (!existsSync(ready)) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    say(`fetching ${name}@${version}`);
    const args = ['install', '--no-audit', '--no-fund', '--prefix', folder, `${name}@${version}`];
    await run('npm', args, { maxBuffer: OUTPUT_BYTES_MAX, signal }).catch((error: Error) => {
      signal.throwIfAborted();
      throw new NotToBeHad(`npm could not fetch ${name}: ${error.message.split('\n').at(-1)}`);
    });
    await writeFile(ready, '');
  }
  return join(folder, 'node_modules/.bin');
}

export async function contentOf(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}
