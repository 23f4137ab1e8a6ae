import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SOFTWARE } from '#shared/receipts/software.ts';

/** In a package, or an image, that was made of a checkout: its commit. */
export const COMMIT_FILE = 'commit';
const ROOT = join(import.meta.dirname, '../..');
const COMMIT = /^[\da-f]{40,64}$/;
/** Enough to find it, and short enough for a line of a log. */
const SHOWN = 12;

/** What runs: the version, and the commit that it was made at, where that is known. */
export interface Build {
  version: string;
  commit: string | undefined;
}

/** Reads of a package or an image what was written when it was made, and of a checkout where it stands. */
export function readBuild(root: string = ROOT): Build {
  const commit = textOf(join(root, COMMIT_FILE)) ?? headOf(join(root, '.git'));
  const isKnown = commit !== undefined && COMMIT.test(commit);
  return {
    version: SOFTWARE.slice(SOFTWARE.indexOf('/') + 1),
    commit: isKnown ? commit.slice(0, SHOWN) : undefined,
  };
}

/** As processes name themselves to each other: `docket/0.1.0+3f2a91c04b1e`. */
export function buildName({ commit }: Build): string {
  return commit === undefined ? SOFTWARE : `${SOFTWARE}+${commit}`;
}

/** The commit that a checkout stands at, without asking git, which need not be there. */
function headOf(git: string): string | undefined {
  const own = gitDirectory(git);
  const head = textOf(join(own, 'HEAD'));
  const [, ref] = /^ref: (\S+)$/.exec(head ?? '') ?? [];
  if (ref === undefined) return head;
  const shared = resolve(own, textOf(join(own, 'commondir')) ?? '.');
  const packed = textOf(join(shared, 'packed-refs'))?.split('\n') ?? [];
  return (
    textOf(join(shared, ref)) ??
    packed.find((line) => line.endsWith(` ${ref}`))?.slice(0, -ref.length - 1)
  );
}

/** A further worktree has a file that says where its own is. */
function gitDirectory(git: string): string {
  const [, elsewhere] = /^gitdir: (.+)$/.exec(textOf(git) ?? '') ?? [];
  return elsewhere ?? git;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
