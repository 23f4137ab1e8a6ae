import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutChangelog, notesOf } from './changelog.ts';
import { refusedLicences, type Sbom } from './licences.ts';

/** As https://semver.org writes it; without build metadata, of which a tag says nothing. */
const VERSION = /^\d{1,5}\.\d{1,5}\.\d{1,5}(-[0-9a-z.-]{1,40})?$/;
/** A bill of materials has some hundred kilobytes. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Makes a release of the repository in `root`, if `npm run test:deep` passes there: the changelog's unreleased part becomes the version's, package.json and the
 * lock file name it, and `release/` gets the package, its bill of materials and their SHA-256 sums. The commit and its tag
 * come last, so that what goes wrong before leaves no trace of a release. Nothing is pushed or published.
 * @returns what was made, and what there is to do
 * @throws Error that says why not; the files are then as they were
 */
export function release(root: string, version: string, day: string): string[] {
  const run = (program: string, ...args: string[]): string =>
    execFileSync(program, args, {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES_MAX,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  if (!VERSION.test(version)) throw new Error(`${version} is no version, such as 1.2.3`);
  if (run('git', 'status', '--porcelain') !== '') throw new Error('the tree is not clean');
  const tag = `v${version}`;
  if (run('git', 'tag', '--list', tag) !== '') throw new Error(`there is a tag ${tag} already`);
  const changelogPath = join(root, 'CHANGELOG.md');
  const changelog = cutChangelog(readFileSync(changelogPath, 'utf8'), version, day);
  // It takes long and tells how far it is; what it finds is found before there is a version that has it.
  execFileSync('npm', ['run', '--silent', 'test:deep'], { cwd: root, stdio: 'inherit' });
  const target = join(root, 'release');
  try {
    writeFileSync(changelogPath, changelog);
    run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version');
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target);
    // Of what is installed beside the package, not of what only builds and tests it.
    const bill = run('npm', 'sbom', '--sbom-format=cyclonedx', '--omit=dev');
    const refused = refusedLicences(JSON.parse(bill) as Sbom);
    if (refused.length > 0) throw new Error(`cannot be handed on: ${refused.join('; ')}`);
    writeFileSync(join(target, `sbom-${version}.cdx.json`), bill);
    run('npm', 'pack', '--pack-destination', target);
    const sums = readdirSync(target)
      .toSorted()
      .map((name) => `${hash('sha256', readFileSync(join(target, name)))}  ${name}\n`);
    writeFileSync(join(target, 'SHA256SUMS'), sums.join(''));
    run('git', 'commit', '--all', '--message', `Release ${version}`);
    run(
      'git',
      'tag',
      '--annotate',
      tag,
      '--cleanup=verbatim',
      '--message',
      `${tag}\n\n${notesOf(changelog, version)}`,
    );
  } catch (error) {
    run('git', 'checkout', '--', '.');
    rmSync(target, { recursive: true, force: true });
    throw error;
  }
  return [
    ...readdirSync(target).map((name) => `release/${name}`),
    `git push origin HEAD ${tag}`,
    `upload release/* to the release ${tag}`,
  ];
}
