import { execFileSync } from 'node:child_process';

export interface Changes {
  /** What the files are compared with, as git names commits. */
  since: 'HEAD' | 'HEAD~1';
  /** Relative to the root of the repository; none that was deleted. */
  files: readonly string[];
}

/** The files of a checkout that differ from its last commit, new ones among them; where there are none, those of that commit. */
export function changesIn(root: string): Changes {
  const list = (...args: string[]): string[] =>
    execFileSync('git', [...args, '-z'], { cwd: root, encoding: 'utf8' })
      .split('\0')
      .filter((path) => path !== '');
  const differing = (since: Changes['since']): string[] =>
    list('diff', '--name-only', '--diff-filter=d', since);
  const now = [...differing('HEAD'), ...list('ls-files', '--others', '--exclude-standard')];
  if (now.length > 0) return { since: 'HEAD', files: now };
  return { since: 'HEAD~1', files: differing('HEAD~1') };
}
