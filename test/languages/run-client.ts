import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import { verifyReceipt } from '#cli/verify/library.ts';
import { Cache, NotToBeHad } from '#test/upstreams/cache.ts';
import type { Client } from './clients.ts';

const run = promisify(execFile);
const HERE = import.meta.dirname;
/** A program asks some twenty questions of a local service; one that takes longer hangs. */
const PROGRAM_MS = 180_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** Of one check: what the program said, after its receipt was verified. */
export interface Found {
  check: string;
  verdict: 'works' | 'fails' | 'not offered';
  words?: string;
}

/** The service that is asked. */
export interface Service {
  baseUrl: string;
  apiKey: string;
  didJson: string;
}

/** Runs a client's program against the service. @throws NotToBeHad where this machine cannot get the client */
export async function runClient(
  client: Client,
  service: Service,
  cache: Cache,
  say: (line: string) => void,
): Promise<Found[]> {
  const [file, args] =
    client.language === 'Python' ? await python(client, cache) : await go(client, cache, say);
  const { stdout } = await run(file, args, {
    env: {
      ...readEnvironment(),
      DOCKET_BASE_URL: service.baseUrl,
      DOCKET_API_KEY: service.apiKey,
      PYTHONDONTWRITEBYTECODE: '1',
    },
    timeout: PROGRAM_MS,
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  const lines = stdout.split('\n').filter((line) => line.startsWith('{"check"'));
  return Promise.all(lines.map((line) => judged(JSON.parse(line), service)));
}

/** A check whose receipt is not what the service signed does not work, whatever the client thinks. */
async function judged(
  { receipt, ...found }: Found & { receipt?: object },
  { didJson }: Service,
): Promise<Found> {
  if (receipt === undefined) {
    const missing = found.verdict === 'works' && found.check.startsWith('receipt');
    return missing ? { ...found, verdict: 'fails', words: 'no receipt' } : found;
  }
  const trust = { didJson, source: 'the service', isChosen: true };
  const { verdict, text } = await verifyReceipt(JSON.stringify(receipt), { trust });
  if (verdict === 'good') return found;
  return { ...found, verdict: 'fails', words: text.split('\n')[0]! };
}

async function python(client: Client, cache: Cache): Promise<[string, string[]]> {
  const packages = [`${client.name}==${client.version}`, ...(client.beside ?? [])];
  const interpreter = await cache.python({ title: client.name, packages });
  return [interpreter, [join(HERE, 'python', client.program)]];
}

/** Compiles once for each state of the sources: Go knows that itself. */
async function go(
  client: Client,
  cache: Cache,
  say: (line: string) => void,
): Promise<[string, string[]]> {
  const at = (name: string): string => join(cache.directory, name);
  await mkdir(at('bin'), { recursive: true });
  const binary = at(`bin/${client.program}`);
  const env = {
    ...readEnvironment(),
    GOPATH: at('go'),
    GOCACHE: at('gocache'),
    GOFLAGS: '-mod=readonly',
    GOTOOLCHAIN: 'local',
  };
  say(`compiling ${client.name}`);
  const cwd = join(HERE, 'go');
  await run('go', ['build', '-p=2', '-o', binary, `./${client.program}`], { cwd, env }).catch(
    (error: { code?: string; stderr?: string }) => {
      if (error.code === 'ENOENT') throw new NotToBeHad('there is no go');
      const why = error.stderr?.trim().split('\n').at(-1);
      throw new NotToBeHad(`go could not build it: ${why}`);
    },
  );
  return [binary, []];
}
