import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimDirectory } from '#embedded/stores/directory-owner.ts';
import { startRedisServer } from '#embedded/stores/redis.ts';
import { giveTo } from '#embedded/stores/unprivileged-user.ts';
import { connectTo } from '#test/support/lanes.ts';

const asRoot = process.getuid?.() === 0;
/** Only root can give to another; anybody can give to themselves. */
const NOBODY = asRoot
  ? { uid: 65_534, gid: 65_534 }
  : { uid: process.getuid!(), gid: process.getgid!() };
let home: string;
let precious: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'docket-given-'));
  precious = join(home, 'precious');
  mkdirSync(precious, { mode: 0o700 });
  writeFileSync(join(precious, 'secret'), 'keep me', { mode: 0o600 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('a directory that was given away', () => {
  it('what a planted link names is not given along, whether a file or a directory', async () => {
    const dir = join(home, 'given');
    mkdirSync(join(dir, 'inner'), { recursive: true });
    symlinkSync(join(precious, 'secret'), join(dir, 'file'));
    symlinkSync(precious, join(dir, 'inner', 'directory'));
    const before = statSync(precious).uid;
    await giveTo(NOBODY, dir);
    expect(lstatSync(join(dir, 'file')).uid).toBe(NOBODY.uid);
    expect(statSync(join(dir, 'inner')).uid).toBe(NOBODY.uid);
    expect([statSync(precious).uid, statSync(join(precious, 'secret')).uid]).toEqual([
      before,
      before,
    ]);
  });

  it('a link in the place of the claim is replaced, and what it names keeps its content', async () => {
    const dir = join(home, 'given');
    mkdirSync(dir);
    symlinkSync(join(precious, 'secret'), join(dir, 'owner'));
    await claimDirectory(dir);
    expect(readFileSync(join(precious, 'secret'), 'utf8')).toBe('keep me');
    expect(lstatSync(join(dir, 'owner')).isSymbolicLink()).toBe(false);
  });
});

describe('an embedded Redis', () => {
  it('its files are for its user alone, it does not run as root, and it asks for its password', async () => {
    const dataDir = join(home, 'redis');
    mkdirSync(dataDir, { mode: 0o755 });
    symlinkSync(join(precious, 'secret'), join(dataDir, 'redis.conf'));
    const server = await startRedisServer({ dataDir, password: 'open-sesame' });
    try {
      expect(server.url).toMatch(/^redis:\/\/:open-sesame@127\.0\.0\.1:\d+$/);
      const client = connectTo(server.url);
      await client.set('a', '1');
      client.disconnect();
      const stranger = connectTo(server.url.replace(':open-sesame@', ''));
      await expect(stranger.get('a')).rejects.toThrow(/NOAUTH/);
      stranger.disconnect();
      expect(statSync(dataDir).mode & 0o777).toBe(0o700);
      const log = join(dataDir, 'appendonlydir', 'appendonly.aof.1.incr.aof');
      expect(statSync(log).mode & 0o077).toBe(0);
      expect(readFileSync(join(precious, 'secret'), 'utf8')).toBe('keep me');
      const commandLine = readFileSync(`/proc/${server.pid}/cmdline`, 'utf8');
      expect(commandLine).not.toContain('open-sesame');
      const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
      if (asRoot) expect(/^Uid:\s+(\d+)/m.exec(status)![1]).not.toBe('0');
    } finally {
      await server.stop();
    }
  });
});
