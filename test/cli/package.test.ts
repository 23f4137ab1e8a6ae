import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { buildPackage } from '#dev/package/build.ts';
import { readBuild } from '#shared/process/build.ts';
import packageJson from '../../package.json' with { type: 'json' };
import {
  CONSUMED,
  consume,
  docket,
  type Installed,
  ROOT,
  verifyGoodReceipt,
} from '#lab/package/installed.ts';
import { atFileEnd } from '#test/support/file-end.ts';

/** As it is installed, without a registry: the tarball in `node_modules`, and beside it what it declares, from this checkout. */
const installed: Installed = { directory: '', node: process.execPath };

beforeAll(async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'docket-package-'));
  atFileEnd(() => rmSync(scratch, { recursive: true, force: true }));
  const staged = join(scratch, 'staged');
  buildPackage(join(staged, 'dist'));
  for (const name of ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'cli/start.js'])
    cpSync(join(ROOT, name), join(staged, name));
  const run = promisify(execFile);
  // What it would build is there.
  await run('npm', ['pack', '--ignore-scripts', '--offline', '--pack-destination', scratch], {
    cwd: staged,
  });
  installed.directory = join(scratch, 'program');
  const modules = join(installed.directory, 'node_modules');
  mkdirSync(join(modules, 'docket'), { recursive: true });
  const tarball = join(scratch, `docket-${packageJson.version}.tgz`);
  await run('tar', ['xzf', tarball, '-C', join(modules, 'docket'), '--strip-components=1']);
  // No development dependency of ours: what needs one fails.
  for (const name of [...Object.keys(packageJson.dependencies), 'openai']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  cpSync(join(ROOT, 'lab/package/consumer.ts'), join(installed.directory, 'consumer.ts'));
  writeFileSync(join(installed.directory, 'package.json'), '{ "type": "module" }');
});

it('an installed package has every command, and verifies a receipt', async () => {
  const { commit } = readBuild(ROOT);
  const made = commit === undefined ? '' : ` (commit ${commit})`;
  expect(await docket(installed, '--version')).toBe(`${packageJson.version}${made}\n`);
  const help = await docket(installed, '--help');
  for (const name of ['up', 'verify', 'doctor', 'ledger']) expect(help).toMatch(` ${name} `);
  expect(await verifyGoodReceipt(installed)).toMatch(/^GOOD/);
});

it('no command of an installed package starts when it is told that it is tested', async () => {
  const tested = { ...installed, options: ['--conditions=docket-test'] };
  await expect(docket(tested, 'doctor')).rejects.toThrow('Cannot find module');
  expect(existsSync(join(installed.directory, 'node_modules/docket/dist/test'))).toBe(false);
});

it('docket up of an installed package answers, and a program finds and judges the receipts', async () => {
  expect(await consume(installed)).toEqual(CONSUMED);
});
