import { execFileSync } from 'node:child_process';

/** Some thousand paths fit; a repository whose list is longer has something in it that does not belong there. */
const LIST_BYTES_MAX = 16 * 1024 * 1024;

/** The files of a repository as git knows them, relative to its root; what merely lies beside them is not among them. */
export function trackedFiles(root: string): string[] {
  const list = execFileSync('git', ['ls-files', '-z'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: LIST_BYTES_MAX,
  });
  return list.split('\0').filter((path) => path !== '');
}
