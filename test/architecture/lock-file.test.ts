import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './source-files.ts';

interface Package {
  optionalDependencies?: Record<string, string>;
  hasInstallScript?: boolean;
  integrity?: string;
  link?: boolean;
}

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
}

/** A version, or another package's under a name of ours, as exactly. */
const EXACT = /^(npm:(@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/;

const readJson = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
const { packages } = readJson('package-lock.json') as { packages: Record<string, Package> };
const manifest = readJson('package.json') as Manifest;

describe('the lock file', () => {
  it('the lock file lists the binaries of every platform, without which npm ci refuses it on all of them', () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) =>
          !(`${path}/node_modules/${name}` in packages) && !(`node_modules/${name}` in packages),
      ),
    );
    expect(missing).toEqual([]);
  });

  it('every package of the lock file carries the hash that its bytes must have, those for other platforms too', () => {
    const bare = Object.entries(packages)
      .filter(
        ([path, { integrity, link }]) => path !== '' && link !== true && integrity === undefined,
      )
      .map(([path]) => path);
    expect(bare).toEqual([]);
  });

  it('every install script in the lock file is allowed or denied in package.json', () => {
    const undecided = Object.entries(packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
      .filter((name) => !(name in manifest.allowScripts));
    expect(undecided).toEqual([]);
  });
});

describe('dependencies', () => {
  it('every dependency has an exact version', () => {
    const all = { ...manifest.dependencies, ...manifest.devDependencies };
    const loose = Object.entries(all).filter(([, version]) => !EXACT.test(version));
    expect(loose).toEqual([]);
  });
});
