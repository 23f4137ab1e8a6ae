import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import type { ServerKind } from './servers.ts';

const run = promisify(execFile);
const HERE = import.meta.dirname;
const TEXTS = join(HERE, '../../test/fixtures/almanac.txt');
/** Newer Pythons first; older than 3.10 none of the servers takes. */
const PYTHONS = ['python3.13', 'python3.12', 'python3.11', 'python3.10', 'python3'];
/** What makes a model. */
const MAKER = ['gguf==0.19.0', 'safetensors==0.8.0', 'tokenizers==0.23.3'];
const MAKER_SCRIPT = join(HERE, 'make_model.py');
const LOG_CHARS = 2_000;

/** This machine cannot get it; the message says why. */
export class NotToBeHad extends Error {}

/** A folder of ours in the user's cache directory. */
export function inUserCache(name: string): string {
  const userCache = readEnvironment()['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(userCache, 'docket', name);
}

/** Where servers and models are kept between runs: outside of the tree, since they are large and of this machine. */
export class Cache {
  readonly directory: string;
  readonly #say: (line: string) => void;
  readonly #signal: AbortSignal | undefined;

  /**
   * @param directory default: `docket/upstreams` in the user's cache directory
   * @param signal ends an installation
   */
  constructor(directory: string | undefined, say: (line: string) => void, signal?: AbortSignal) {
    this.directory = directory ?? inUserCache('upstreams');
    this.#say = say;
    this.#signal = signal;
  }

  /** Whether it is installed already. */
  has(kind: Pick<ServerKind, 'packages'>): boolean {
    return existsSync(join(this.#venv(kind.packages), 'ready'));
  }

  /**
   * The Python that has the server's packages; installs them when they are not there.
   * @throws NotToBeHad
   */
  python(kind: Pick<ServerKind, 'title' | 'packages'>): Promise<string> {
    return this.#install(kind.title, kind.packages);
  }

  /** The folder with the made models; makes them when they are not there. */
  async models(): Promise<string> {
    const recipe = createHash('sha256');
    for (const file of [MAKER_SCRIPT, TEXTS]) recipe.update(await readFile(file));
    const folder = join(this.directory, `models-${recipe.digest('hex').slice(0, 12)}`);
    if (existsSync(folder)) return folder;
    const python = await this.#install('what makes a model', MAKER);
    this.#say('making a model of random weights');
    await rm(`${folder}.new`, { recursive: true, force: true });
    await run(python, [MAKER_SCRIPT, TEXTS, `${folder}.new`]);
    await rename(`${folder}.new`, folder);
    return folder;
  }

  /** Another version of any of them is another folder. */
  #venv(packages: readonly string[]): string {
    const first = packages[0]!.replace(/\[.*\]/, '').replace('==', '-');
    const digest = createHash('sha256').update(packages.join('\n')).digest('hex');
    return join(this.directory, `${first}-${digest.slice(0, 12)}`);
  }

  async #install(title: string, packages: readonly string[]): Promise<string> {
    const venv = this.#venv(packages);
    const python = join(venv, 'bin/python');
    if (existsSync(join(venv, 'ready'))) return python;
    await mkdir(this.directory, { recursive: true });
    const base = await findPython();
    this.#say(`installing ${title}: ${packages.join(' ')}`);
    await rm(venv, { recursive: true, force: true });
    await run(base, ['-m', 'venv', venv]);
    await this.#pip(python, packages);
    await writeFile(join(venv, 'ready'), `${packages.join('\n')}\n`);
    return python;
  }

  /** Shows the lines of pip that tell of progress: an installation may be gigabytes, or compile for minutes. */
  async #pip(python: string, packages: readonly string[]): Promise<void> {
    const args = ['-n', '10', python, '-m', 'pip', 'install', '--no-cache-dir', ...packages];
    const pip = spawn('nice', [...args, '--disable-pip-version-check'], {
      env: { ...readEnvironment(), CMAKE_BUILD_PARALLEL_LEVEL: '2', PIP_PROGRESS_BAR: 'off' },
      signal: this.#signal,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let errors = '';
    pip.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = `${errors}${text}`.slice(-LOG_CHARS);
    });
    pip.stdout.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n')) {
        if (/^\s*(Collecting|Building|Installing)/.test(line)) this.#say(line.trim().slice(0, 100));
      }
    });
    const code = await new Promise<number | null>((resolve) => {
      pip.once('error', () => resolve(null));
      pip.once('close', resolve);
    });
    if (code === 0) return;
    const why = errors.split('\n').find((line) => line.startsWith('ERROR'));
    throw new NotToBeHad(`pip could not install ${packages[0]}: ${why ?? `it ended with ${code}`}`);
  }
}

async function findPython(): Promise<string> {
  for (const name of PYTHONS) {
    try {
      const { stdout } = await run(name, [
        '-c',
        'import sys, venv; print(sys.version_info[:2] >= (3, 10))',
      ]);
      if (stdout.trim() === 'True') return name;
    } catch {
      // Not there, or only a shim.
    }
  }
  throw new NotToBeHad('there is no Python of 3.10 or newer with venv');
}
