import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CLIENTS } from '#lab/languages/clients.ts';
import { makeReady } from '#lab/languages/toolchains.ts';
import { Cache, NotToBeHad } from '#lab/upstreams/cache.ts';

/** Says that it is new enough, and makes environments that hold nothing but itself; pip installs all that it is asked for. */
const PYTHON = `#!/bin/sh
PATH=/usr/bin:/bin
case "$*" in
  *"import sys"*) echo True ;;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
esac
`;

let directory: string;
let cache: Cache;

/** All that the machine has: what is put there. */
async function put(name: string, script: string): Promise<void> {
  await writeFile(join(directory, name), script);
  await chmod(join(directory, name), 0o755);
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'docket-toolchains-'));
  vi.stubEnv('PATH', directory);
  cache = new Cache(join(directory, 'cache'), () => {});
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

function ready(name: string) {
  const client = CLIENTS.find((one) => one.name === name)!;
  const description = join(directory, 'openapi.json');
  const { signal } = new AbortController();
  return makeReady(client, { cache, say: () => {}, description, signal });
}

it.each([
  ['openai', 'there is no Python of 3.10 or newer with venv'],
  ['openapi-generator python', 'there is no Python of 3.10 or newer with venv'],
  ['github.com/openai/openai-go/v3', 'there is no go'],
  ['com.openai:openai-java', 'there is no mvn'],
  ['openapi-generator java', 'there is no mvn'],
  ['async-openai', 'there is no cargo'],
  ['opencode-ai', 'there is no npm'],
])('skips %s on a machine without its tools, and says: %s', async (name, words) => {
  await expect(ready(name)).rejects.toStrictEqual(new NotToBeHad(words));
});

it('skips a client in Java on a machine that has Maven and no compiler, and says so', async () => {
  await put('mvn', '#!/bin/sh\n');
  await expect(ready('com.openai:openai-java')).rejects.toStrictEqual(
    new NotToBeHad('there is no javac'),
  );
});

it('says which package could not be installed, and why', async () => {
  await put('python3', PYTHON);
  await put('nice', '#!/bin/sh\necho "ERROR: No matching distribution" >&2; exit 1\n');
  await expect(ready('openai')).rejects.toStrictEqual(
    new NotToBeHad('pip could not install openai==3.54.0: ERROR: No matching distribution'),
  );
});

it('installs anew when another version of any package is pinned, and once while none is', async () => {
  await put('python3', PYTHON);
  await put('nice', `#!/bin/sh\necho "$*" >> ${directory}/installed\n`);
  const wanted = { title: 'it', packages: ['one[extra]==1.0', 'two==1.0'] };
  const newer = { title: 'it', packages: ['one[extra]==1.0', 'two==1.1'] };
  const first = await cache.python(wanted);
  expect(await cache.python(wanted)).toBe(first);
  expect(cache.has(wanted)).toBe(true);
  expect(cache.has(newer)).toBe(false);
  expect(await cache.python(newer)).not.toBe(first);
  expect((await readFile(join(directory, 'installed'), 'utf8')).trim().split('\n')).toHaveLength(2);
});
