import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** The folders that hold our own code; tests come last. */
export const FOLDERS = [
  'api',
  'workers',
  'shared',
  'migrations',
  'cli',
  'client',
  'embedded',
  'dev',
  'lab',
  'test',
];

export interface SourceFile {
  /** Relative to the repository, with slashes. */
  path: string;
  text: string;
}

/** Every TypeScript file of the repository, or every file whose name is like `named`. */
export function sourceFiles(named = /\.ts$/): SourceFile[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && named.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name)),
  ).map((path) => ({
    path: relative(ROOT, path).replaceAll('\\', '/'),
    text: readFileSync(path, 'utf8'),
  }));
}
