import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { isOpenToOthers } from '#shared/kernel/files/open-to-others.ts';
import { writeExclusively } from '#shared/kernel/files/write-exclusively.ts';
import { dateTime, DAY_MS } from '#shared/kernel/time.ts';
import {
  LANE_KEY_BYTES,
  type LaneKey,
  laneKeyId,
  type LaneKeys,
  SALT_BYTES,
  Seals,
} from '../seals.ts';

/** A key file: its name says from when on its key seals, `20261122T084839Z.key`; before that it only opens. */
export interface LaneKeyFile extends LaneKey {
  path: string;
  /** Epoch milliseconds. */
  sealsFrom: number;
}

/** The lane keys of this process cannot be used, in words for who runs it, without key material. */
export class LaneKeyProblem extends Error {
  override readonly name = 'LaneKeyProblem';
}

const FILE_NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.key$/;
/** A rotation is seen within a second; looking costs one listing and a stat per key. */
const LOOK_MS = 1_000;

/** Root looks at keys as their user does, who is another: of root's own a group may read those. */
const ANOTHER_USER = -1;

/**
 * The keys in `dir`, oldest first.
 * @param user that is to use them; the one of this process when absent
 * @throws LaneKeyProblem when there is none, or one cannot be used: with what an operator can do about it.
 */
export function loadLaneKeys(dir: string, user?: number): LaneKeyFile[] {
  return withProblems(dir, () => {
    const names = keyNames(dir);
    if (names.length === 0) {
      throw new LaneKeyProblem(
        `No lane key in ${dir}. Make one and bring it to every host: mkdir -p ${dir} && (umask 077; openssl rand ${LANE_KEY_BYTES} > ${dir}/$(date -u +%Y%m%dT%H%M%SZ).key)`,
      );
    }
    return names.map((name) => readKey(join(dir, name), name, user));
  });
}

/** The same, making the first key. Several processes may do so at once: one of them gets the name. */
export function ensureLaneKeys(dir: string): LaneKeyFile[] {
  withProblems(dir, () => {
    if (keyNames(dir).length === 0) createLaneKey(dir, 0);
  });
  return loadLaneKeys(dir);
}

/**
 * Makes a key that seals from then on (epoch ms). A name that is taken stays with its owner.
 * @param like whose it is to be, where root makes it
 */
export function createLaneKey(
  dir: string,
  sealsFrom: number,
  like?: Pick<Stats, 'uid' | 'gid' | 'mode'>,
): LaneKeyFile {
  const name = fileName(sealsFrom);
  const path = join(dir, name);
  writeExclusively(path, randomBytes(LANE_KEY_BYTES), like);
  return readKey(path, name, like === undefined ? undefined : ANOTHER_USER);
}

/** Of keys oldest first: the youngest whose time has come seals; before the first one's time, the first. */
export function sealingAt<Key extends { sealsFrom: number }>(
  keys: readonly Key[],
  now: number,
): Key {
  return keys.findLast(({ sealsFrom }) => sealsFrom <= now) ?? keys[0]!;
}

/** What a key sealed is of no use any more so long after the next one seals: stored answers live for a day, and the longest streams end. */
const OPENS_FOR_MS = 2 * DAY_MS;

export interface LaneKeyRotation {
  made: LaneKeyFile;
  /** Keys of before, with the moment from which they may be deleted everywhere, oldest first. */
  kept: { path: string; until: number }[];
}

/**
 * Makes the key that is to seal next, `waitMs` from now: until then it is to be brought to every host. It belongs to the user
 * that has the one before it, and all others stay and open.
 * @throws LaneKeyProblem when there is none yet, or one already that is to seal next
 */
export function rotateLaneKey(dir: string, now: number, waitMs: number): LaneKeyRotation {
  const isRoot = process.getuid?.() === 0;
  const keys = loadLaneKeys(dir, isRoot ? ANOTHER_USER : undefined);
  const next = keys.find(({ sealsFrom }) => sealsFrom > now);
  if (next !== undefined) {
    throw new LaneKeyProblem(
      `${next.path} is there already, and seals from ${dateTime(next.sealsFrom)}: bring it to LANE_KEYS_DIR of every machine before.`,
    );
  }
  const made = withProblems(dir, () => {
    const like = isRoot ? statSync(keys.at(-1)!.path) : undefined;
    return createLaneKey(dir, now + waitMs, like);
  });
  if (keys.some(({ path }) => path === made.path)) {
    throw new LaneKeyProblem(`${made.path} was made in this second.`);
  }
  const successors = [...keys.slice(1), made];
  const kept = keys.map(({ path }, index) => ({
    path,
    until: successors[index]!.sealsFrom + OPENS_FOR_MS,
  }));
  return { made, kept };
}

/**
 * Seals for this process with the keys in `dir`, which may come and go while it runs. Keys that cannot be read then are
 * reported to `onError`, and those of before stay.
 * @throws LaneKeyProblem when they cannot be used now: a process does not start without its keys.
 */
export function openSeals(
  dir: string,
  onError: (error: unknown) => void,
  monotonicNow: () => number = () => performance.now(),
): Seals {
  let keys = loadLaneKeys(dir);
  let current: LaneKeys = { sealing: sealingAt(keys, Date.now()), all: keys };
  let version = versionOf(dir);
  let lookedAt = monotonicNow();
  const look = (): void => {
    try {
      const found = versionOf(dir);
      if (found !== version) {
        keys = loadLaneKeys(dir);
        version = found;
      }
    } catch (error) {
      onError(error);
    }
    current = { sealing: sealingAt(keys, Date.now()), all: keys };
  };
  return new Seals(() => {
    if (monotonicNow() - lookedAt >= LOOK_MS) {
      lookedAt = monotonicNow();
      look();
    }
    return current;
  }, randomBytes(SALT_BYTES));
}

/** What the file system refuses is a matter of who runs the process: a file in place of the directory, or another's key. */
function withProblems<T>(dir: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error && 'errno' in error)) throw error;
    throw new LaneKeyProblem(
      `${error.message}. ${dir} must be a directory whose keys the user of this process can read.`,
      { cause: error },
    );
  }
}

function keyNames(dir: string): string[] {
  if (statSync(dir, { throwIfNoEntry: false }) === undefined) return [];
  // The times in the names are of one length, so their order is that of the keys.
  return readdirSync(dir)
    .filter((name) => FILE_NAME.test(name))
    .toSorted();
}

function versionOf(dir: string): string {
  return keyNames(dir)
    .map((name) => `${name}.${statSync(join(dir, name)).mtimeMs}`)
    .join(' ');
}

function readKey(path: string, name: string, user?: number): LaneKeyFile {
  const stat = statSync(path);
  if (isOpenToOthers(stat, user)) {
    throw new LaneKeyProblem(
      `${path} can be read by others. Run: chmod 600 ${path} (and rotate it if others were on this machine)`,
    );
  }
  if (stat.size !== LANE_KEY_BYTES) {
    throw new LaneKeyProblem(`${path} does not hold ${LANE_KEY_BYTES} bytes.`);
  }
  const bytes = readFileSync(path);
  return { id: laneKeyId(bytes), bytes, path, sealsFrom: timeOf(name) };
}

function timeOf(name: string): number {
  const [, year, month, day, hour, minute, second] = FILE_NAME.exec(name)!.map(Number);
  return Date.UTC(year!, month! - 1, day, hour, minute, second);
}

function fileName(epochMs: number): string {
  return `${new Date(epochMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.key`;
}
