import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import { NotToBeHad } from '#lab/upstreams/cache.ts';

const run = promisify(execFile);
const LOG_CHARS = 2_000;

/** What Go builds and fetches, in a folder outside of the tree. */
export class GoCache {
  readonly #directory: string;
  readonly #env: Record<string, string | undefined>;
  readonly #say: (line: string) => void;

  constructor(directory: string, say: (line: string) => void) {
    this.#directory = directory;
    this.#say = say;
    this.#env = {
      ...readEnvironment(),
      GOPATH: join(directory, 'go'),
      GOBIN: directory,
      GOCACHE: join(directory, 'gocache'),
      GOFLAGS: '-p=2 -modcacherw',
      CGO_ENABLED: '0',
    };
  }

  /**
   * The path of a program, which is built when it is not there.
   * @throws NotToBeHad without Go, or when it cannot be built
   */
  async program(name: string, module: string): Promise<string> {
    const path = join(this.#directory, name);
    if (existsSync(path)) return path;
    this.#say(`building ${module} with Go in ${this.#directory}: some four minutes`);
    await mkdir(this.#directory, { recursive: true });
    await this.#go('install', '-trimpath', '-ldflags=-s -w', module);
    // Gigabytes that nothing is built of again.
    for (const folder of ['go', 'gocache']) {
      await rm(join(this.#directory, folder), { recursive: true, force: true });
    }
    return path;
  }

  /**
   * The folder of a module's files, of which nothing is built.
   * @throws NotToBeHad without Go, or when it cannot be fetched
   */
  async folder(module: string): Promise<string> {
    await mkdir(this.#directory, { recursive: true });
    const { Dir } = JSON.parse(await this.#go('mod', 'download', '-json', module)) as {
      Dir: string;
    };
    return Dir;
  }

  async #go(...args: string[]): Promise<string> {
    const options = { cwd: this.#directory, env: this.#env };
    await run('go', ['version'], { env: this.#env }).catch(() => {
      throw new NotToBeHad('there is no Go');
    });
    try {
      return (await run('nice', ['-n', '10', 'go', ...args], options)).stdout;
    } catch (error) {
      // With -json it says on standard output what is wrong.
      const { stdout = '', stderr = String(error) } = error as { stdout?: string; stderr?: string };
      throw new NotToBeHad(`Go failed: ${`${stdout}${stderr}`.slice(-LOG_CHARS)}`);
    }
  }
}
