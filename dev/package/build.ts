/**
 * Builds what `npm pack` puts into the package beside its `package.json`. A checkout runs its TypeScript as it is; under
 * `node_modules` Node refuses to, so the package has the same files with their types blanked out, line for line, and named
 * `.js`. The types of what others import stand beside them.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { COMMIT_FILE } from '#shared/process/build.ts';

const ROOT = join(import.meta.dirname, '../..');
/** What runs, and what it reads from beside it. */
const CONTENT = [
  '{api,cli,client,embedded,migrations,shared,workers}/**/*',
  'Procfile',
  'docs/catalogue.schema.json',
  // The pages that are served at /docs/guides.
  '{README,ARCHITECTURE,CHANGELOG}.md',
  'docs/**/*.{md,svg,webp}',
];
/** Stands in the package as it is, and chooses between these files and their sources. */
const NOT_BUILT = 'cli/start.js';
/** A file's name at the end of a text, as imports have it and code that starts a thread, a process or a command. */
const SOURCE_NAME = /\.ts(?=['"`])/g;

/** @param target the folder to make, which is emptied */
export function buildPackage(target: string): void {
  rmSync(target, { recursive: true, force: true });
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), text);
  };
  for (const entry of globSync(CONTENT, { cwd: ROOT, withFileTypes: true })) {
    const source = join(entry.parentPath, entry.name);
    const path = relative(ROOT, source);
    if (!entry.isFile() || path === NOT_BUILT) continue;
    const text = (): string => readFileSync(source, 'utf8');
    if (path.endsWith('.ts'))
      write(path.replace(/\.ts$/, '.js'), built(stripTypeScriptTypes(text())));
    else if (path === 'Procfile') write(path, text().replaceAll(/\.ts$/gm, '.js'));
    else cpSync(source, join(target, path));
  }
  write('package.json', innerPackage());
  write(COMMIT_FILE, `${commitHere()}\n`);
  writeTypes(target);
  for (const path of globSync('**/*.d.ts', { cwd: target })) {
    write(path, built(readFileSync(join(target, path), 'utf8')));
  }
}

function built(text: string): string {
  return text.replaceAll(SOURCE_NAME, '.js');
}

/** What the names that start with # mean among the built files. */
function innerPackage(): string {
  const outer = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object;
  const { name, version, type, imports } = outer as Record<string, unknown>;
  return built(`${JSON.stringify({ name, version, private: true, type, imports }, null, 2)}\n`);
}

/** Nothing where this is no checkout. */
function commitHere(): string {
  try {
    const head = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return head.trim();
  } catch {
    return '';
  }
}

/** Of what others import, and of all that it names. */
function writeTypes(target: string): void {
  const compiler = join(ROOT, 'node_modules/typescript-7/bin/tsc');
  const project = join(import.meta.dirname, 'tsconfig.json');
  execFileSync(process.execPath, [compiler, '--project', project, '--outDir', target], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

if (import.meta.main) buildPackage(join(ROOT, 'dist'));
