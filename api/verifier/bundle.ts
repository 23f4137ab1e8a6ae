import { fileURLToPath } from 'node:url';
import type { ReleaseFiles } from '#cli/verify/release-files.ts';
import { madeOnce } from '#shared/kernel/made-once.ts';

/** A file of the verifier for browsers. */
export interface VerifierFile {
  content: string;
  type: 'text/javascript; charset=utf-8' | 'application/json; charset=utf-8';
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ENTRIES = {
  'docket-verify': 'cli/verify/browser.ts',
  'pack-worker': 'cli/verify/pack-worker.ts',
  // How a page writes the figures of a receipt that it has verified.
  figures: 'shared/methodology/readable.ts',
  // What the playground sends, and the code that sends the same.
  playground: 'api/dashboard/playground/call.ts',
};

/**
 * The files of `docket/verify` for browsers by their names. They are made from the sources of the command when a browser
 * first asks: the bundler takes tens of megabytes that a process without such visitors does not pay.
 */
export function verifierFiles(
  release: () => ReleaseFiles,
): () => Promise<ReadonlyMap<string, VerifierFile>> {
  return madeOnce(async () => bundle(release()));
}

async function bundle(release: ReleaseFiles): Promise<ReadonlyMap<string, VerifierFile>> {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    cwd: ROOT,
    input: ENTRIES,
    platform: 'browser',
    resolve: { conditionNames: ['browser', 'import', 'default'] },
  });
  try {
    const { output } = await build.generate({
      format: 'esm',
      minify: true,
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
    });
    const files = new Map<string, VerifierFile>([
      [
        'release.json',
        { content: JSON.stringify(release), type: 'application/json; charset=utf-8' },
      ],
    ]);
    for (const file of output) {
      if (file.type !== 'chunk') continue;
      files.set(file.fileName, { content: file.code, type: 'text/javascript; charset=utf-8' });
    }
    // For who keeps them all, to judge without a network.
    const names = JSON.stringify([...files.keys()]);
    files.set('files.json', { content: names, type: 'application/json; charset=utf-8' });
    return files;
  } finally {
    await build.close();
  }
}
