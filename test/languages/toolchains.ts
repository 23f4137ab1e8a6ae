import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import { type Cache, NotToBeHad } from '#test/upstreams/cache.ts';
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
}

/** How the client of each language is fetched, and its program compiled. */
const TOOLCHAINS = { Python: python, Go: go, Java: java, Rust: rust };

/**
 * What runs the client's program, once the client is fetched and both are compiled.
 * @throws NotToBeHad where this machine cannot get the client
 */
export function makeReady(client: Client, place: Place): Promise<Command> {
  return TOOLCHAINS[client.language](client, place);
}

async function python(client: Client, place: Place): Promise<Command> {
  const packages = [`${client.name}==${client.version}`, ...(client.beside ?? [])];
  const file = await place.cache.python({ title: client.name, packages });
  const args = [join(HERE, sourceOf(client))];
  if (client.generates !== true) return { file, args };
  const target = await emptied(join(place.cache.directory, 'generated', client.name));
  const generate = ['generate', '--path', place.description, '--output-path', join(target, 'made')];
  // It formats what it makes with a program that was installed beside it.
  const path = `${dirname(file)}${delimiter}${readEnvironment()['PATH']}`;
  const asked = ['-m', 'openapi_python_client', ...generate, '--meta', 'none', '--overwrite'];
  await run(file, asked, { env: { PATH: path } });
  return { file, args, env: { PYTHONPATH: target } };
}

async function go(client: Client, { cache, say }: Place): Promise<Command> {
  const cwd = join(HERE, 'go');
  const file = join(cache.directory, 'bin', client.program);
  const env = {
    GOPATH: join(cache.directory, 'go'),
    GOCACHE: join(cache.directory, 'gocache'),
    GOFLAGS: '-mod=readonly',
    GOTOOLCHAIN: 'local',
  };
  await fetched(client, 'go', ['mod', 'download'], { cwd, env });
  say(`compiling ${client.name}`);
  await run('go', ['build', '-p=2', '-o', file, `./${client.program}`], { cwd, env });
  return { file, args: [] };
}

async function rust(client: Client, { cache, say }: Place): Promise<Command> {
  const cwd = join(HERE, 'rust');
  const target = join(cache.directory, 'rust');
  const env = { CARGO_HOME: join(cache.directory, 'cargo'), CARGO_TARGET_DIR: target };
  await fetched(client, 'cargo', ['fetch', '--locked'], { cwd, env });
  say(`compiling ${client.name}`);
  await run('cargo', ['build', '--locked', '--offline', '--jobs=2'], { cwd, env });
  return { file: join(target, 'debug', client.program), args: [] };
}

async function java(client: Client, place: Place): Promise<Command> {
  const coordinates = [`${client.name}:${client.version}`, ...(client.beside ?? [])];
  const jars = await jarsOf(client, coordinates, place);
  const classes = await emptied(join(place.cache.directory, 'classes', client.program));
  place.say(`compiling ${client.name}`);
  const sources = [join(HERE, 'java/Suite.java'), join(HERE, sourceOf(client))];
  await run('javac', ['-nowarn', '-d', classes, '-cp', jars, ...sources]);
  return { file: 'java', args: ['-cp', `${classes}${delimiter}${jars}`, client.program] };
}

/** The class path of these and of all that they need, in a folder of their own: two clients may need two versions of one. */
async function jarsOf(
  client: Client,
  coordinates: readonly string[],
  { cache, say }: Place,
): Promise<string> {
  const folder = join(cache.directory, `${client.name.split(':').at(-1)}-${client.version}`);
  const [pom, jars, ready] = ['pom.xml', 'jars', 'ready'].map((name) => join(folder, name));
  const project = projectOf(coordinates);
  if (!existsSync(ready!) || (await readFile(pom!, 'utf8')) !== project) {
    await emptied(folder);
    await writeFile(pom!, project);
    say(`fetching ${coordinates.join(' ')}`);
    const repository = `-Dmaven.repo.local=${join(cache.directory, 'm2')}`;
    const asked = ['--batch-mode', '--quiet', '--file', pom!, repository, COPY_DEPENDENCIES];
    await fetched(client, 'mvn', [...asked, `-DoutputDirectory=${jars}`]);
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
  client: Client,
  tool: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<void> {
  await run(tool, args, options).catch(
    (error: { code?: string; stdout?: string; stderr?: string }) => {
      if (error.code === 'ENOENT') throw new NotToBeHad(`there is no ${tool}`);
      const lines = `${error.stdout}${error.stderr}`.trim().split('\n');
      const why = lines.find((line) => /error/i.test(line)) ?? lines.at(-1);
      throw new NotToBeHad(`${tool} could not fetch ${client.name}: ${why}`);
    },
  );
}

async function run(
  file: string,
  args: readonly string[],
  { cwd, env }: RunOptions = {},
): Promise<void> {
  await promisify(execFile)(file, args, {
    cwd,
    env: { ...readEnvironment(), ...env },
    maxBuffer: OUTPUT_BYTES_MAX,
  });
}
