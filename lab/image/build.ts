import { existsSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { readEnvironment } from '#shared/config/config.ts';
import { inUserCache } from '#lab/upstreams/cache.ts';
import { run } from './tools.ts';

const ROOT = join(import.meta.dirname, '../..');
const BASE = 'localhost/docket-base';
export const IMAGE = 'localhost/docket';
/** What Node needs of a system; no documentation. */
const DEBIAN = 'bookworm';
const PACKAGES = ['ca-certificates', 'libstdc++6', 'libatomic1'];
const NOT_WANTED = ['doc', 'man', 'locale'];

export interface Sizes {
  /** Bytes. */
  base: number;
  image: number;
}

/** Builds the image of this checkout on a base of our own, which has what the official image of Node has. */
export async function buildImage(say: (line: string) => void): Promise<Sizes> {
  await buildBase(say);
  say('building the image');
  // A registry may be behind a proxy whose certificate this machine trusts.
  const certificates = readEnvironment()['NODE_EXTRA_CA_CERTS'];
  const trust =
    certificates === undefined
      ? []
      : [
          '--volume',
          `${certificates}:${certificates}:ro`,
          '--build-arg',
          `NODE_EXTRA_CA_CERTS=${certificates}`,
        ];
  const commit = await run('git', '-C', ROOT, 'rev-parse', 'HEAD');
  const base = ['--build-arg', `BASE=${BASE}`, '--build-arg', `COMMIT=${commit}`];
  await run('buildah', 'bud', '--pull-never', ...base, ...trust, '--tag', IMAGE, ROOT);
  const size = async (name: string): Promise<number> =>
    Number(await run('podman', 'image', 'inspect', '--format', '{{.Size}}', name));
  return { base: await size(BASE), image: await size(IMAGE) };
}

async function buildBase(say: (line: string) => void): Promise<void> {
  const directory = inUserCache('image');
  await mkdir(directory, { recursive: true });
  const system = join(directory, `${DEBIAN}.tar`);
  if (!existsSync(system)) {
    say(`making a ${DEBIAN} with ${PACKAGES.join(', ')}`);
    const without = NOT_WANTED.map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
    const packages = `--include=${PACKAGES.join(',')}`;
    await run('mmdebstrap', '--variant=minbase', packages, ...without, DEBIAN, system);
  }
  say('making the base: that, Node and npm');
  const container = await run('buildah', 'from', 'scratch');
  try {
    await run('buildah', 'add', '--quiet', container, system, '/');
    await run('buildah', 'copy', '--quiet', container, process.execPath, '/usr/local/bin/node');
    // `npm` is a link to npm/bin/npm-cli.js.
    const npm = join(await realpath(await run('which', 'npm')), '../..');
    await run('buildah', 'copy', '--quiet', container, npm, '/usr/local/lib/node_modules/npm');
    const link = ['ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm'];
    await run('buildah', 'run', container, '--', ...link);
    await run('buildah', 'commit', '--quiet', container, BASE);
  } finally {
    await run('buildah', 'rm', container);
  }
}
