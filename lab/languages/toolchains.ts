import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import { type Cache, NotToBeHad } from '#lab/upstreams/cache.ts';
import { type Client, sourceOf } from './clients.ts';

const HERE = import.meta.dirname;
const COPY_DEPENDENCIES =
  'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
/** A compiler says much when it fails. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** What runs a client's program. */
export interface Command {
  file: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

/** Where clients are kept, and what they are told. */
export interface Place {
  cache: Cache;
  say: (line: string) => void;
  /** The service's own description, of which a generator makes its client. */
  description: string;
  /** Ends what is running. */
  signal: AbortSignal;
}

/** How the client of each language is fetched, and its program compiled. */
const TOOLCHAINS = { Python: python, Go: go, Java: java, Rust: rust, TypeScript: typescript };

/**
 * What runs the client's program, once the client is fetched and both are compiled.
 * @throws NotToBeHad where this machine cannot get the client
 */
export function makeReady(client: Client, place: Place): Promise<Command> {
  return TOOLCHAINS[client.language](client, place);
}

async function python(client: Client, place: Place): Promise<Command> {
  const own = client.generator === 'openapi-generator' ? [] : [`${client.name}==${client.version}`];
  const packages = [...own, ...(client.beside ?? [])];
  const file = await place.cache.python({ title: client.name, packages });
  const args = [join(HERE, sourceOf(client))];
  if (client.generator === undefined) return { file, args };
  const target = await emptied(join(place.cache.directory, 'generated', client.name));
  if (client.generator === 'openapi-generator') {
    await openapiGenerator(client, ['-g', 'python', '--package-name', 'made'], target, place);
  } else {
    const output = ['--output-path', join(target, 'made'), '--meta', 'none', '--overwrite'];
    // It formats what it makes with a program that was installed beside it.
    const path = `${dirname(file)}${delimiter}${readEnvironment()['PATH']}`;
    const asked = ['-m', 'openapi_python_client', 'generate', '--path', place.description];
    await run(file, [...asked, ...output], place, { env: { PATH: path } });
  }
  return { file, args, env: { PYTHONPATH: target } };
}

async function go(client: Client, place: Place): Promise<Command> {
  const { cache, say } = place;
  const cwd = join(HERE, 'go');
  const file = join(cache.directory, 'bin', client.program);
  const env = goEnvironment(place);
  await fetched(client, 'go', ['mod', 'download'], place, { cwd, env });
  say(`compiling ${client.name}`);
  await run('go', ['build', '-p=2', '-o', file, `./${client.program}`], place, { cwd, env });
  return { file, args: [] };
}

/** Where Go keeps what it fetches and compiles. */
export function goEnvironment({ cache }: Pick<Place, 'cache'>): Record<string, string> {
  return {
    GOPATH: join(cache.directory, 'go'),
    GOCACHE: join(cache.directory, 'gocache'),
    GOFLAGS: '-mod=readonly',
    GOTOOLCHAIN: 'local',
  };
}

async function rust(client: Client, place: Place): Promise<Command> {
  const { cache, say } = place;
  const cwd = join(HERE, 'rust');
  const target = join(cache.directory, 'rust');
  const env = { CARGO_HOME: join(cache.directory, 'cargo'), CARGO_TARGET_DIR: target };
  await fetched(client, 'cargo', ['fetch', '--locked'], place, { cwd, env });
  say(`compiling ${client.name}`);
  await run('cargo', ['build', '--locked', '--offline', '--jobs=2'], place, { cwd, env });
  return { file: join(target, 'debug', client.program), args: [] };
}

/** What npm installs is a program of its own: ours is told where its link is. */
async function typescript(client: Client, place: Place): Promise<Command> {
  const folder = join(place.cache.directory, `${client.name}-${client.version}`);
  const ready = join(folder, 'ready');
  if (!existsSync(ready)) {
    await emptied(folder);
    const wanted = `${client.name}@${client.version}`;
    place.say(`fetching ${wanted}`);
    await fetched(client, 'npm', ['install', '--prefix', folder, wanted], place);
    await writeFile(ready, '');
  }
  return {
    file: process.execPath,
    args: [join(HERE, sourceOf(client))],
    env: { DOCKET_CLIENT_PROGRAMS: join(folder, 'node_modules/.bin') },
  };
}

async function java(client: Client, place: Place): Promise<Command> {
  const own = client.generator === undefined ? [`${client.name}:${client.version}`] : [];
  const jars = await jarsOf(client, [...own, ...(client.beside ?? [])], place);
  const sources = [join(HERE, 'java/Suite.java'), join(HERE, sourceOf(client))];
  if (client.generator === 'openapi-generator') {
    const target = await emptied(join(place.cache.directory, 'generated', client.name));
    const names = ['invoker', 'api', 'model'].flatMap((kind) => [
      `--${kind}-package`,
      kind === 'invoker' ? 'made' : `made.${kind}`,
    ]);
    await openapiGenerator(client, ['-g', 'java', ...names], target, place);
    const made = join(target, 'src/main/java');
    const files = await readdir(made, { recursive: true });
    sources.push(...files.filter((name) => name.endsWith('.java')).map((name) => join(made, name)));
  }
  const classes = await emptied(join(place.cache.directory, 'classes', client.program));
  place.say(`compiling ${client.name}`);
  await run('javac', ['-nowarn', '-proc:none', '-d', classes, '-cp', jars, ...sources], place);
  return { file: 'java', args: ['-cp', `${classes}${delimiter}${jars}`, client.program] };
}

/** Makes a client of the service's description, without the tests and pages that come with it. */
async function openapiGenerator(
  client: Client,
  options: readonly string[],
  target: string,
  place: Place,
): Promise<void> {
  const name = 'org.openapitools:openapi-generator-cli';
  const jars = await jarsOf({ ...client, name }, [`${name}:${client.version}`], place);
  const parts = ['modelDocs', 'apiDocs', 'modelTests', 'apiTests'].map((part) => `${part}=false`);
  const wanted = ['models', 'apis', 'supportingFiles', ...parts].join(',');
  place.say(`making ${client.name}`);
  const generate = ['-cp', jars, 'org.openapitools.codegen.OpenAPIGenerator', 'generate'];
  const made = ['-i', place.description, '-o', target, '--global-property', wanted];
  await run('java', [...generate, ...made, ...options], place);
}

/** The class path of these and of all that they need, in a folder of their own: two clients may need two versions of one. */
async function jarsOf(
  client: Pick<Client, 'name' | 'version'>,
  coordinates: readonly string[],
  place: Place,
): Promise<string> {
  const { cache, say } = place;
  const folder = join(cache.directory, `${client.name.split(':').at(-1)}-${client.version}`);
  const [pom, jars, ready] = ['pom.xml', 'jars', 'ready'].map((name) => join(folder, name));
  const project = projectOf(coordinates);
  if (!existsSync(ready!) || (await readFile(pom!, 'utf8')) !== project) {
    await emptied(folder);
    await writeFile(pom!, project);
    say(`fetching ${coordinates.join(' ')}`);
    const repository = `-Dmaven.repo.local=${join(cache.directory, 'm2')}`;
    const asked = ['--batch-mode', '--quiet', '--file', pom!, repository, COPY_DEPENDENCIES];
    await fetched(client, 'mvn', [...asked, `-DoutputDirectory=${jars}`], place);
    await writeFile(ready!, '');
  }
  return join(jars!, '*');
}

/** A project that is nothing but its dependencies. */
function projectOf(coordinates: readonly string[]): string {
  const dependencies = coordinates.map((one) => {
    const [group, artifact, version] = one.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>docket.example</groupId><artifactId>clients</artifactId><version>0</version>
<dependencies>
${dependencies.join('\n')}
</dependencies>
</project>
`;
}

async function emptied(folder: string): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  return folder;
}

type RunOptions = { cwd?: string; env?: Readonly<Record<string, string>> };

/** @throws NotToBeHad where the tool is not there, or its registry does not give the client */
async function fetched(
  client: Pick<Client, 'name'>,
  tool: string,
  args: readonly string[],
  place: Place,
  options: RunOptions = {},
): Promise<void> {
  await run(tool, args, place, options).catch(
    (error: Error & { stdout?: string; stderr?: string }) => {
      if (error instanceof NotToBeHad) throw error;
      const lines = `${error.stdout}${error.stderr}`.trim().split('\n');
      const why = lines.find((line) => /error/i.test(line)) ?? lines.at(-1);
      throw new NotToBeHad(`${tool} could not fetch ${client.name}: ${why}`);
    },
  );
}

/** @throws NotToBeHad where the tool is not there */
async function run(
  file: string,
  args: readonly string[],
  { signal }: Place,
  { cwd, env }: RunOptions = {},
): Promise<void> {
  const running = promisify(execFile)(file, args, {
    cwd,
    env: { ...readEnvironment(), ...env },
    maxBuffer: OUTPUT_BYTES_MAX,
    signal,
  });
  await running.catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new NotToBeHad(`there is no ${file}`) : error;
  });
}
