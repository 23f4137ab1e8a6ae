import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimDirectory, stopOrphan } from '#embedded/stores/directory-owner.ts';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { startRedisServer } from '#embedded/stores/redis.ts';
import { giveTo, removeGiven } from '#embedded/stores/unprivileged-user.ts';
import { connectTo } from '#test/support/lanes.ts';

const asRoot = process.getuid?.() === 0;
/** Only root can give to another; any user can give to themselves. */
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

  it('what has another name elsewhere is not given along', async () => {
    const dir = join(home, 'given');
    mkdirSync(dir);
    writeFileSync(join(dir, 'own'), '');
    linkSync(join(precious, 'secret'), join(dir, 'file'));
    const before = statSync(precious).uid;
    await giveTo(NOBODY, dir);
    expect(statSync(join(dir, 'own')).uid).toBe(NOBODY.uid);
    expect(statSync(join(precious, 'secret')).uid).toBe(before);
  });

  it('a link in the place of the claim is replaced, and what it names keeps its content', async () => {
    const dir = join(home, 'given');
    mkdirSync(dir);
    symlinkSync(join(precious, 'secret'), join(dir, 'owner'));
    await claimDirectory(dir);
    expect(readFileSync(join(precious, 'secret'), 'utf8')).toBe('keep me');
    expect(lstatSync(join(dir, 'owner')).isSymbolicLink()).toBe(false);
  });

  it('a link in the place of the claim is not read: what it names may say that another has the directory', async () => {
    const dir = join(home, 'given');
    mkdirSync(dir);
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!;
    writeFileSync(join(dir, 'owner'), `${process.ppid} ${started}`);
    await expect(claimDirectory(dir)).rejects.toThrow(`in use by process ${process.ppid}`);
    renameSync(join(dir, 'owner'), join(precious, 'owner'));
    symlinkSync(join(precious, 'owner'), join(dir, 'owner'));
    await claimDirectory(dir);
  });

  it('a pipe in the place of a file that is read there holds up no start', async () => {
    const dir = join(home, 'given');
    mkdirSync(dir);
    for (const name of ['owner', 'redis.pid']) execFileSync('mkfifo', [join(dir, name)]);
    await claimDirectory(dir);
    expect(lstatSync(join(dir, 'owner')).isFile()).toBe(true);
    await stopOrphan('redis.pid', dir, 'SIGTERM', 1_000);
  });

  it('its user has no process of another user stopped, whose number they write and who works in it', async () => {
    // Who is not root has no other user to stop a process of.
    if (!asRoot) return;
    const dir = join(home, 'given');
    mkdirSync(dir);
    const works = (owner?: typeof NOBODY): ChildProcess =>
      spawn('sleep', ['60'], { cwd: dir, ...owner });
    chmodSync(home, 0o755);
    const [ours, theirs] = [works(), works(NOBODY)];
    const exited = once(theirs, 'exit');
    chownSync(dir, NOBODY.uid, NOBODY.gid);
    try {
      for (const { pid } of [ours, theirs]) {
        writeFileSync(join(dir, 'redis.pid'), `${pid}\n`);
        await stopOrphan('redis.pid', dir, 'SIGTERM', 60_000);
      }
      expect(await exited).toEqual([null, 'SIGTERM']);
      expect([ours.exitCode, ours.signalCode]).toEqual([null, null]);
    } finally {
      ours.kill('SIGKILL');
    }
  });

  it('its user gains nothing by putting links in the place of directories while it is given and removed', async () => {
    if (!asRoot) return;
    const [dir, made] = [join(home, 'given'), join(home, 'made')];
    chmodSync(home, 0o711);
    const restless = spawn(process.execPath, ['--eval', SWAPS, dir, precious], {
      ...NOBODY,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const began = once(restless.stdout, 'data');
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        if (round % 2 === 0) {
          mkdirSync(join(made, 'inner'), { recursive: true });
          for (const path of [join(made, 'inner'), made]) chownSync(path, NOBODY.uid, NOBODY.gid);
          renameSync(made, dir);
        }
        if (round === 0) await began;
        await giveTo(NOBODY, dir);
        if (round % 2 === 1) await removeGiven(dir);
        expect(readdirSync(precious)).toEqual(['secret']);
        const owners = [precious, join(precious, 'secret')].map((path) => statSync(path).uid);
        expect(owners).toEqual([0, 0]);
      }
    } finally {
      restless.kill('SIGKILL');
    }
  });
});

/** Puts a link to argv[2] in the place of the directory `inner` of argv[1], and that back, as fast as it can. */
const SWAPS = `
  const { renameSync, symlinkSync } = require('node:fs');
  const [dir, precious] = process.argv.slice(-2);
  const [inner, away, link] = ['inner', 'away', 'link'].map((name) => dir + '/' + name);
  const tried = (act) => { try { act(); } catch {} };
  for (let turn = 0; ; turn += 1) {
    tried(() => symlinkSync(precious, link));
    tried(() => renameSync(inner, away));
    tried(() => renameSync(link, inner));
    tried(() => renameSync(inner, link));
    tried(() => renameSync(away, inner));
    if (turn === 0) process.stdout.write('swapping');
  }`;
/** Where what was looked at a moment before is followed, a few of these are enough to lose the secret. */
const ROUNDS = 60;

describe('an embedded Redis', () => {
  it('its files are for its user alone, it does not run as root, and it asks for its password', async () => {
    const dataDir = join(home, 'redis');
    mkdirSync(dataDir, { mode: 0o755 });
    symlinkSync(join(precious, 'secret'), join(dataDir, 'redis.conf'));
    execFileSync('mkfifo', [join(dataDir, 'redis.pid')]);
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
      if (asRoot) expect(rightsOf(server.pid)['Uid']).not.toMatch(/^0\b/);
    } finally {
      await server.stop();
    }
  });
});

/** What the kernel says of a process: its user and its sets of capabilities, as in /proc. */
function rightsOf(pid: number): Record<string, string> {
  const rows = readFileSync(`/proc/${pid}/status`, 'utf8')
    .split('\n')
    .map((row) => row.split(':\t'));
  return Object.fromEntries(rows.map(([name = '', value = '']) => [name, value.trim()]));
}

const NOTHING = '0000000000000000';
const withSetpriv = await promisify(execFile)('setpriv', ['--no-new-privs', 'true']).then(
  () => true,
  () => false,
);

describe('the rights of an embedded store', () => {
  it('Redis holds no capability and gains none, even in a directory that is closed to its user', async () => {
    const dataDir = join(home, 'closed', 'redis');
    mkdirSync(dataDir, { recursive: true });
    chmodSync(join(home, 'closed'), 0o700);
    const server = await startRedisServer({ dataDir, durable: true, password: 'open-sesame' });
    try {
      const client = connectTo(server.url);
      await client.set('a', '1');
      await client.bgrewriteaof();
      client.disconnect();
      expect(rightsOf(server.pid)).toMatchObject({
        NoNewPrivs: withSetpriv ? '1' : '0',
        CapEff: NOTHING,
        CapPrm: NOTHING,
        CapInh: NOTHING,
        ...(asRoot && withSetpriv ? { CapBnd: NOTHING } : {}),
      });
      expect(readdirSync(join(dataDir, 'appendonlydir'))).not.toEqual([]);
    } finally {
      await server.stop();
    }
  });

  it('PostgreSQL holds no capability, and where its directory is closed to its user only the one to pass through', async () => {
    for (const closed of [false, true]) {
      chmodSync(home, closed ? 0o700 : 0o755);
      const dataDir = join(home, String(closed));
      const server = await startEmbeddedPostgres({ dataDir, durable: false });
      try {
        const held = rightsOf(server.pid);
        expect(held).toMatchObject({ NoNewPrivs: withSetpriv ? '1' : '0' });
        if (!asRoot) continue;
        expect(held['Uid']).not.toMatch(/^0\b/);
        // Bit 1 is dac_override, bit 2 dac_read_search; containers often lack the second.
        const one = [0b10n, 0b100n];
        for (const set of ['CapEff', 'CapPrm', ...(withSetpriv ? ['CapBnd'] : [])]) {
          if (closed) expect(one).toContain(BigInt(`0x${held[set]!}`));
          else expect(held[set]).toBe(NOTHING);
        }
      } finally {
        await server.stop();
      }
    }
  });
});
