import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createLaneKey,
  ensureLaneKeys,
  LaneKeyProblem,
  loadLaneKeys,
  openSeals,
  rotateLaneKey,
  sealingAt,
} from '#shared/lanes/files/lane-keys.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const NOW = Date.UTC(2026, 10, 22, 8, 48, 39);
const IN_TEN_MINUTES = NOW + 10 * 60_000;
let home: string;
let dir: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'docket-lane-keys-'));
  dir = join(home, 'lane-keys');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('lane keys', () => {
  it('the first key is made once, for its user alone', () => {
    const [key] = ensureLaneKeys(dir);
    expect(ensureLaneKeys(dir)).toEqual([key]);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(statSync(key!.path).mode & 0o777).toBe(0o600);
    expect(key!.bytes).toHaveLength(32);
    expect(readdirSync(dir)).toHaveLength(1);
  });

  it('a process does not start without a key, with one that others can read, or with one of another length', () => {
    expect(() => openSeals(dir, () => {})).toThrow(/No lane key in .*openssl rand 32/);
    const { path } = createLaneKey(dir, 0);
    chmodSync(path, 0o640);
    expect(() => loadLaneKeys(dir)).toThrow(/can be read by others/);
    chmodSync(path, 0o600);
    writeFileSync(path, 'short');
    expect(() => loadLaneKeys(dir)).toThrow(/does not hold 32 bytes/);
  });

  it.each<[string, string, () => void]>([
    ['a file in place of the directory', 'ENOTDIR', () => writeFileSync(dir, '')],
    [
      'a key that links to what is not there',
      'ENOENT',
      () => {
        mkdirSync(dir);
        symlinkSync(join(home, 'none'), join(dir, '19700101T000000Z.key'));
      },
    ],
    [
      'a key that links to itself',
      'ELOOP',
      () => {
        mkdirSync(dir);
        symlinkSync('19700101T000000Z.key', join(dir, '19700101T000000Z.key'));
      },
    ],
  ])('what cannot be read is a problem of the keys, with its cause: %s', (_what, code, make) => {
    make();
    for (const load of [loadLaneKeys, ensureLaneKeys]) {
      expect(thrownBy(LaneKeyProblem, () => load(dir))).toMatchObject({
        message: expect.stringContaining(dir) as unknown,
        cause: { code },
      });
    }
  });

  it('a new key opens at once and seals from its time on, so that every host has it before it is met', () => {
    createLaneKey(dir, 0);
    const next = createLaneKey(dir, IN_TEN_MINUTES);
    expect(next.path).toBe(join(dir, '20261122T085839Z.key'));
    const keys = loadLaneKeys(dir);
    expect(sealingAt(keys, NOW).sealsFrom).toBe(0);
    expect(sealingAt(keys, IN_TEN_MINUTES).id).toBe(next.id);
    expect(sealingAt(keys.slice(1), NOW).id).toBe(next.id);
  });

  it('a rotation makes one key that seals later, and says until when those of before are needed', () => {
    expect(() => rotateLaneKey(dir, NOW, 0)).toThrow(/No lane key/);
    const first = createLaneKey(dir, 0);
    const { made, kept } = rotateLaneKey(dir, NOW, 600_000);
    expect(made.sealsFrom).toBe(IN_TEN_MINUTES);
    expect(loadLaneKeys(dir)).toEqual([first, made]);
    expect(kept).toEqual([{ path: first.path, until: IN_TEN_MINUTES + 48 * 3_600_000 }]);
    expect(() => rotateLaneKey(dir, NOW, 0)).toThrow(/is there already/);
    expect(() => rotateLaneKey(dir, IN_TEN_MINUTES, 0)).toThrow(/made in this second/);
    expect(loadLaneKeys(dir)).toHaveLength(2);
  });

  it('a key that root makes is for the user that has the one before it, and for no other', () => {
    const { path } = createLaneKey(dir, 0);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(path, 65_534, 65_534);
    const { uid, gid } = statSync(path);
    const { made } = rotateLaneKey(dir, NOW, 0);
    expect(statSync(made.path)).toMatchObject({ uid, gid, mode: 0o100600 });
  });

  it('root makes the next of keys that are its own and that a group reads, and that group reads it', () => {
    const { path } = createLaneKey(dir, 0);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) {
      chownSync(path, 0, 65_534);
      chmodSync(path, 0o440);
    }
    const { gid, mode } = statSync(path);
    const { made } = rotateLaneKey(dir, NOW, 0);
    expect(statSync(made.path)).toMatchObject({ gid, mode });
    // What others than the group can read is refused, to root too.
    chmodSync(path, 0o444);
    expect(() => rotateLaneKey(dir, NOW + 2_000, 0)).toThrow(/can be read by others/);
  });

  it('a process whose keys vanish goes on with those it has, and says so', () => {
    const { path } = createLaneKey(dir, 0);
    const problems: unknown[] = [];
    let now = 0;
    const seals = openSeals(
      dir,
      (error) => problems.push(error),
      () => now,
    );
    const sealed = seals.seal('x', 'p');
    unlinkSync(path);
    now = 5_000;
    expect(seals.open(sealed, 'p')).toBe('x');
    expect(problems).toHaveLength(1);
  });

  it('a process takes up a new key while it runs', () => {
    createLaneKey(dir, 0);
    let now = 0;
    const seals = openSeals(
      dir,
      () => {},
      () => now,
    );
    const young = createLaneKey(dir, Date.now() - 5_000);
    now = 5_000;
    expect(seals.sealBytes('x', 'p').toString('hex', 1, 5)).toBe(young.id);
  });
});
