import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Variables } from '#lab/pooler/product.ts';
import { inUserCache } from '#lab/upstreams/cache.ts';
import { COMMIT_FILE } from '#shared/process/build.ts';
import { childEnvironment } from '#test/support/child-environment.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/compatibility.md');
const OLDEST = /\*\*Oldest commit [^*]*\*\* `([\da-f]{40})`/;
const LOCK_FILE = 'package-lock.json';

/** A build of the product, in a folder of its own. */
export interface Build {
  name: string;
  root: string;
}

export const THIS_BUILD: Build = { name: 'this build', root: ROOT };

/** The whole id of a commit, however it was named; undefined where this checkout has none of that name. */
export function commitOf(name: string): string | undefined {
  try {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** The commit from which an upgrade has to work, as docs/compatibility.md names it. */
export function oldestCommit(): string | undefined {
  return OLDEST.exec(readFileSync(PAGE, 'utf8'))?.[1];
}

/**
 * Puts the tree of a commit into a folder. Not as a further worktree: that would be noted in the repository, and stay there
 * when the run is killed. It has our dependencies where those of run time are the same, and else its own, which are installed once.
 */
export async function unpack(commit: string, root: string): Promise<Build> {
  await mkdir(root);
  const archive = execFileSync('git', ['archive', '--format=tar', commit], {
    cwd: ROOT,
    maxBuffer: 2 ** 30,
  });
  execFileSync('tar', ['-x', '-C', root], { input: archive });
  await writeFile(join(root, COMMIT_FILE), `${commit}\n`);
  const [theirs, ours] = await Promise.all(
    [root, ROOT].map(async (folder) => runTimeOf(await readFile(join(folder, LOCK_FILE), 'utf8'))),
  );
  const dependencies = theirs === ours ? ROOT : await installed(root, theirs!);
  await symlink(join(dependencies, 'node_modules'), join(root, 'node_modules'));
  return { name: commit.slice(0, 12), root };
}

/** A folder with the dependencies of a tree. One that is there is whole: it gets its name at the end. */
async function installed(root: string, runTime: string): Promise<string> {
  const folder = join(inUserCache('builds'), hash('sha256', runTime).slice(0, 16));
  if (existsSync(folder)) return folder;
  const partial = `${folder}.${process.pid}`;
  await mkdir(partial, { recursive: true });
  for (const name of ['package.json', LOCK_FILE])
    await copyFile(join(root, name), join(partial, name));
  execFileSync('npm', ['ci'], { cwd: partial, stdio: 'inherit' });
  await rename(partial, folder);
  return folder;
}

/** The packages of a lock file that the product runs with. */
function runTimeOf(lock: string): string {
  const { packages } = JSON.parse(lock) as { packages: Record<string, { dev?: boolean }> };
  const entries = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  return JSON.stringify(entries);
}

/** Makes the accounts of `npm start` by the code of a build, which is what fits the database it has migrated. */
const SEEDING = `
import { ensureDemoAccounts } from '#embedded/demo-accounts.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
const pool = createPool({ url: process.env.DATABASE_URL, max: 2, applicationName: 'lab' });
const { keys } = await ensureDemoAccounts(pool, process.env.DOCKET_DATA_DIR);
await pool.end();
process.stdout.write(keys.enterprise);
`;

/** Brings the database to the schema of a build. */
export function migrate(build: Build, env: Variables): void {
  runInside(build, env, ['migrations/main.ts']);
}

/** @returns a key of an organisation with room for every request of a run */
export function makeAccount(build: Build, env: Variables): string {
  return runInside(build, env, ['--input-type=module', '--eval', SEEDING]);
}

function runInside({ root }: Build, env: Variables, args: readonly string[]): string {
  return execFileSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...childEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
