import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './source-files.ts';

interface Package {
  optionalDependencies?: Record<string, string>;
  hasInstallScript?: boolean;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  dev?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
}

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

  it('every package that npm ci installs where this runs carries the hash that its bytes must have', () => {
    const foreign = ({ os, cpu, libc }: Package): boolean =>
      (os !== undefined && !os.includes('linux')) ||
      (cpu !== undefined && !cpu.includes('x64')) ||
      (libc !== undefined && !libc.includes('glibc'));
    const bare = Object.entries(packages)
      .filter(
        ([path, { integrity, link }]) => path !== '' && link !== true && integrity === undefined,
      )
      .filter(([, one]) => !(one.optional === true && foreign(one)))
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
    const loose = Object.entries(all).filter(
      ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    );
    expect(loose).toEqual([]);
  });
});
