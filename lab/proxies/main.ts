import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { claimPort } from '#embedded/ports.ts';
import { removeGiven } from '#embedded/stores/unprivileged-user.ts';
import { fileOf, type Running, start, type Variables } from '#lab/pooler/product.ts';
import { judge } from '#lab/storms/judge.ts';
import { Load, type Target } from '#lab/storms/load.ts';
import { readArguments } from '#lab/support/arguments.ts';
import { Random } from '#lab/support/random.ts';
import { makeAccount, migrate, THIS_BUILD } from '#lab/upgrade/build.ts';
import { makeStores } from '#lab/upgrade/stores.ts';
import { BACKGROUND_ROLES } from '#shared/config/settings.ts';
import { checkUnits, isThere, LOG, type Ports, PROXIES, type Proxy } from './proxies.ts';

const USAGE = `npm run proxies

Has nginx, Caddy and systemd look at their examples in ops/, and puts nginx and then Caddy, with their example, in front of two
api processes: frames of a stream come one by one, a body that is too large is refused by the product, and each api process is
replaced twice under load without a failed request. Exit code 0: all of it is so; 1: something is not; 2: wrong arguments.
A program that is not installed is skipped by name.
`;
const CLIENTS = 8;
const CALLS_BETWEEN = 50;
const SHOWN_BYTES = 2_000;
const SEED = 1;
const MODEL = 'llama-3.1-8b';
/** One process on each, as on two machines. */
const HOSTS = ['127.0.0.1', '127.0.0.2'];
const READY_MS = 20_000;

readArguments(USAGE, { options: {} });
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const directory = await mkdtemp(join(tmpdir(), 'docket-proxies-'));
if (isThere('systemd-analyze')) {
  checkUnits(directory);
  say('systemd: the units are well-formed');
} else say('systemd-analyze is not here: skipped');
const stores = await makeStores();
const running: Running[] = [];
try {
  migrate(THIS_BUILD, stores.env);
  const apiKey = makeAccount(THIS_BUILD, stores.env);
  const begin = async (file: string, args: readonly string[] = []): Promise<void> =>
    void running.push(await start(file, stores.env, { args }));
  await begin(fileOf('receipts'));
  await begin(fileOf('inference'));
  await begin('workers/background/main.ts', BACKGROUND_ROLES);
  for (const proxy of PROXIES) {
    if (isThere(proxy.program)) await tryOut(proxy, stores.env, apiKey);
    else say(`${proxy.name} is not here: skipped`);
  }
} catch (error) {
  say(`BROKEN: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await Promise.all(running.map((one) => one.stop()));
  for (const server of stores.servers) await server.stop();
  await removeGiven(stores.directory);
  await rm(directory, { recursive: true });
}

async function tryOut(proxy: Proxy, env: Variables, apiKey: string): Promise<void> {
  proxy.check(directory);
  say(`${proxy.name}: the example is well-formed`);
  const [own, api, metrics] = await Promise.all(
    [0, 0, 0].map((port) => claimPort(HOSTS[0]!, port)),
  );
  const ports: Ports = { own: own!, api: api!, metrics: metrics! };
  const startApi = (host: string): Promise<Running> => {
    const [PORT, METRICS_PORT] = [String(api), String(metrics)];
    const listens = { HOST: host, METRICS_HOST: host, PORT, METRICS_PORT };
    return start(fileOf('api'), { ...env, ...listens, TRUSTED_PROXIES: HOSTS[0]! });
  };
  const apis = await Promise.all(HOSTS.map(startApi));
  const child = proxy.start(directory, ports);
  const target = { baseUrl: `http://127.0.0.1:${own}/v1`, apiKey };
  try {
    await untilHealthy(`http://127.0.0.1:${own}/health`);
    say(`${proxy.name}: ${await streamed(target)}`);
    say(`${proxy.name}: ${await refusedBody(target)}`);
    const random = new Random(SEED);
    const load = new Load(target, { name: proxy.name, random, clients: CLIENTS });
    for (const index of [0, 1, 0, 1]) {
      await more(load);
      proxy.setAside?.(child, directory, ports, HOSTS[index]);
      await apis[index]!.stop();
      await more(load);
      apis[index] = await startApi(HOSTS[index]!);
      proxy.setAside?.(child, directory, ports);
    }
    await more(load);
    await load.stop();
    const at = { databaseUrl: env['DATABASE_URL']!, redisUrl: env['REDIS_URL']! };
    const verdict = await judge(at, load.attempts, []);
    const { attempts, answered, lost, doubled, mismatched, examples } = verdict;
    const failed = load.attempts.filter(({ ending }) => ending !== 'whole');
    for (const { status, reason } of failed.slice(0, 5)) examples.push(`${status} ${reason}`);
    const figures = `${answered} of ${attempts} calls answered whole while four api processes were replaced`;
    if (failed.length + lost + doubled + mismatched > 0 || !verdict.sound) {
      examples.push((await readFile(join(directory, LOG), 'utf8')).slice(0, SHOWN_BYTES));
      throw new Error(`${proxy.name}: ${figures}\n${examples.join('\n')}`);
    }
    say(`${proxy.name}: ${figures}`);
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    await Promise.all(apis.map((one) => one.stop()));
  }
}

async function more(load: Load): Promise<void> {
  const wanted = load.attempts.length + CALLS_BETWEEN;
  while (load.attempts.length < wanted) await delay(50);
}

async function untilHealthy(url: string): Promise<void> {
  const end = Date.now() + READY_MS;
  while ((await fetch(url).catch(() => undefined))?.ok !== true) {
    if (Date.now() > end) throw new Error(`${url} does not answer`);
    await delay(100);
  }
}

function ask({ baseUrl, apiKey }: Target, body: object): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, ...body }),
  });
}

/** A second of frames: were they held back, they would come together. */
async function streamed(target: Target): Promise<string> {
  const messages = [{ role: 'user', content: 'Slowly, please.' }];
  const slow = { stream: true, max_tokens: 20, ignore_eos: true, sandbox_fault: 'pace=20' };
  const response = await ask(target, { messages, ...slow });
  const at: number[] = [];
  for await (const _ of response.body!) at.push(performance.now());
  const lastsMs = at.at(-1)! - at[0]!;
  if (at.length < 10 || lastsMs < 500)
    throw new Error(`a paced stream came in ${at.length} pieces within ${Math.round(lastsMs)} ms`);
  return `a paced stream came in ${at.length} pieces`;
}

async function refusedBody(target: Target): Promise<string> {
  const content = 'a'.repeat(20.5 * 1_024 * 1_024);
  const response = await ask(target, { messages: [{ role: 'user', content }] });
  const { error } = (await response.json()) as { error: { code: string } };
  if (response.status !== 413) throw new Error(`a body of 20.5 MiB: ${response.status}`);
  return `a body of 20.5 MiB is refused with ${error.code}`;
}
