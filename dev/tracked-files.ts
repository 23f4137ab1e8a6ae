import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Some thousand paths fit; a repository whose list is longer has something in it that does not belong there. */
const LIST_BYTES_MAX = 16 * 1024 * 1024;

/** What is made in a checkout, as .gitignore has it, at its top. */
const MADE = new Set(['node_modules', '.docket', '.cache', 'coverage', 'dist', 'release', '.git']);

/**
 * The files of a repository as git knows them, relative to its root; what merely lies beside them is not among them. Where
 * there is no git, or no repository of it (an archive that was unpacked), all but what is made there.
 */
export function trackedFiles(root: string): string[] {
  let list: string;
  try {
    list = execFileSync('git', ['ls-files', '-z'], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: LIST_BYTES_MAX,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return filesBelow(root);
  }
  return list.split('\0').filter((path) => path !== '');
}

function filesBelow(root: string): string[] {
  return readdirSync(root, { withFileTypes: true }).flatMap((top) => {
    if (MADE.has(top.name)) return [];
    if (!top.isDirectory()) return [top.name];
    const inside = readdirSync(join(root, top.name), { recursive: true, withFileTypes: true });
    const files = inside.filter((entry) => entry.isFile());
    return files.map(({ parentPath, name }) => relative(root, join(parentPath, name)));
  });
}
