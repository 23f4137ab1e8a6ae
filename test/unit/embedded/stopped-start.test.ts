import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Launcher } from '#embedded/launcher/launch.ts';
import { Output } from '#embedded/launcher/output.ts';
import { claimPort } from '#embedded/ports.ts';
import { atFileEnd } from '#test/support/file-end.ts';

it('a start that is stopped while it claims its directory and ports gives them back, and starts nothing', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'docket-stopped-'));
  atFileEnd(() => rm(dataDir, { recursive: true, force: true }));
  const port = await claimPort('127.0.0.1', 0);
  const env = {
    DOCKET_DATA_DIR: dataDir,
    HOST: '127.0.0.1',
    PORT: String(port),
    // It is read behind what is claimed: a start that goes on is refused there, before it starts a store.
    CATALOGUE: join(dataDir, 'none.yaml'),
  };
  const launcher = new Launcher({ env, output: new Output({ write: () => {}, colour: false }) });
  const [started] = await Promise.allSettled([launcher.start(), launcher.stop()]);
  expect(started).toMatchObject({ reason: new Error('stopped while starting') });
  expect(await claimPort('127.0.0.1', port)).toBe(port);
  expect(await readdir(dataDir)).toEqual([]);
});

it.each([
  ['DATABASE_POOLER', 'transaction'],
  ['DATABASE_READ_URL', 'postgres://a:b@replica/docket'],
])('%s is refused by the launcher, which makes logins that no pooler knows', (name, value) => {
  const output = new Output({ write: () => {}, colour: false });
  const started = () => new Launcher({ env: { [name]: value }, output });
  expect(started).toThrow(new RegExp(`${name} is for processes that you start yourself`));
});
