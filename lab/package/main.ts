import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readArguments } from '#lab/support/arguments.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { CONSUMED, consume, docket, type Installed, ROOT, verifyGoodReceipt } from './installed.ts';

const USAGE = `npm run package

Packs, installs the tarball with npm in an empty directory and runs it with the oldest Node that the package takes. npm test
does the same with this Node and what is installed here: this asks the npm registry for a Node and for every dependency anew.
Exit code 1 when something is not as it should be.
`;
readArguments(USAGE, {});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const scratch = mkdtempSync(join(tmpdir(), 'docket-package-'));
const npm = (...args: string[]): string =>
  execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: scratch,
    encoding: 'utf8',
  });

/** `>=24` allows 24.0.0. */
const oldest = `${packageJson.engines.node.replace('>=', '')}.0.0`;
const nodePackage = `node-${process.platform}-${process.arch}`;

try {
  writeFileSync(join(scratch, 'package.json'), '{ "type": "module" }');
  const [packed] = JSON.parse(npm('pack', ROOT, '--json')) as { filename: string; size: number }[];
  say(`packed: ${packed!.filename}, ${(packed!.size / 1e6).toFixed(1)} MB`);
  const beside = ['openai', '@types/node', 'typescript'] as const;
  const versions = beside.map((name) => `${name}@${packageJson.devDependencies[name]}`);
  npm('install', join(scratch, packed!.filename), `${nodePackage}@${oldest}`, ...versions);
  const node = join(scratch, 'node_modules', nodePackage, 'bin/node');
  const installed: Installed = { directory: scratch, node };
  say(`installed, with Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`);

  for (const name of ['consumer.ts', 'tsconfig.json'])
    cpSync(join(import.meta.dirname, name), join(scratch, name));
  execFileSync('npx', ['tsc'], { cwd: scratch, stdio: 'inherit' });
  say('a program in TypeScript compiles against our types, with every check of them on');
  say(
    `npx docket --version: ${execFileSync('npx', ['docket', '--version'], { cwd: scratch, encoding: 'utf8' }).trim()}`,
  );
  say(`docket verify: ${await verifyGoodReceipt(installed)}`);
  await docket(installed, '--help');
  const found = await consume(installed);
  say(`docket up: ${JSON.stringify(found)}`);
  if (!isDeepStrictEqual(found, CONSUMED)) process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
say(process.exitCode === 1 ? 'NOT as it should be' : 'all is well');
