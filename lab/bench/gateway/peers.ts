import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { claimPort } from '#embedded/ports.ts';
import { Cache, inUserCache } from '#lab/upstreams/cache.ts';
import type { Target } from './rounds.ts';
import type { Session } from './session.ts';

/** What a gateway did besides passing requests on, in the measured configuration. */
export interface Meanwhile {
  authenticated: string;
  limited: string;
  recorded: string;
  durable: string;
  signed: string;
}

/** Another gateway, ready. */
export interface Peer extends Target {
  title: string;
  /** False when it does not stream. */
  streams: boolean;
  meanwhile: Meanwhile;
  note?: string;
}

const PORTKEY_VERSION = '1.15.2';
const LITELLM_VERSION = '1.105.0';
/** Importing a Python program of this size on a busy machine takes its time. */
const READY_MS = 300_000;
const KEY = 'sk-of-the-bench';

/** Portkey's gateway, as its npm package starts it. */
export async function startPortkey(session: Session, cacheDir: string | undefined): Promise<Peer> {
  const folder = join(cacheDir ?? inUserCache('peers'), `portkey-${PORTKEY_VERSION}`);
  if (!existsSync(folder)) await installPortkey(folder);
  const port = await claimPort('127.0.0.1', 0);
  const script = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  const args = [script, '--headless', `--port=${port}`];
  const pid = session.children.run(process.execPath, args, session.dataDir, {
    NODE_ENV: 'production',
  });
  const origin = `http://127.0.0.1:${port}`;
  await untilAnswers(origin);
  const peer: Peer = {
    name: 'portkey',
    title: `Portkey ${PORTKEY_VERSION}`,
    url: `${origin}/v1`,
    headers: {
      authorization: `Bearer ${KEY}`,
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${session.port}/v1`,
    },
    processes: [{ name: 'portkey', tree: pid }],
    streams: true,
    meanwhile: {
      authenticated: 'no: the caller’s credential goes on to the upstream',
      limited: 'no',
      recorded: 'no',
      durable: 'no',
      signed: 'no',
    },
  };
  const status = await statusOfStream(peer);
  if (status === 200) return peer;
  return { ...peer, streams: false, note: `answers ${status} to a request for a stream` };
}

async function installPortkey(folder: string): Promise<void> {
  await rm(`${folder}.new`, { recursive: true, force: true });
  await mkdir(`${folder}.new`, { recursive: true });
  const quiet = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', '.'];
  const args = ['install', ...quiet, `@portkey-ai/gateway@${PORTKEY_VERSION}`];
  await promisify(execFile)('npm', args, { cwd: `${folder}.new` });
  await rename(`${folder}.new`, folder);
}

/**
 * LiteLLM's proxy with what its documentation asks for in production: as many workers as cores, LITELLM_MODE, only errors
 * logged, as JSON. Without a database: it has none unless one is given to it.
 */
export async function startLitellm(session: Session, cacheDir: string | undefined): Promise<Peer> {
  const packages = [`litellm[proxy]==${LITELLM_VERSION}`];
  const cache = new Cache(cacheDir, (line) => process.stderr.write(`${line}\n`));
  const python = await cache.python({ title: 'LiteLLM', packages });
  const folder = join(session.dataDir, 'litellm');
  await mkdir(folder);
  await writeFile(
    join(folder, 'config.yaml'),
    `model_list:
  - model_name: bench
    litellm_params: { model: openai/static, api_base: "http://127.0.0.1:${session.port}/v1", api_key: none }
general_settings: { master_key: ${KEY} }
litellm_settings: { request_timeout: 600, set_verbose: false, json_logs: true }
`,
  );
  const port = await claimPort('127.0.0.1', 0);
  const workers = String(availableParallelism());
  const flags = ['--config', 'config.yaml', '--host', '127.0.0.1', '--port', String(port)];
  const pid = session.children.run(
    python,
    [join(dirname(python), 'litellm'), ...flags, '--num_workers', workers],
    folder,
    {
      LITELLM_MODE: 'PRODUCTION',
      LITELLM_LOG: 'ERROR',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_TELEMETRY: 'False',
      NO_DOCS: 'True',
    },
  );
  const origin = `http://127.0.0.1:${port}`;
  await untilAnswers(`${origin}/health/liveliness`);
  return {
    name: 'litellm',
    title: `LiteLLM proxy ${LITELLM_VERSION}, ${workers} workers`,
    url: `${origin}/v1`,
    headers: { authorization: `Bearer ${KEY}` },
    processes: [{ name: 'litellm', tree: pid }],
    streams: true,
    meanwhile: {
      authenticated: 'yes, by its one master key',
      limited: 'no',
      recorded: 'no: it has no database here',
      durable: 'no',
      signed: 'no',
    },
  };
}

/** A gateway that runs already, with `bench` for a model and the bench's upstream behind it. */
export async function foreignPeer(
  named: string,
  pid: string | undefined,
  key: string | undefined,
): Promise<Peer> {
  const split = named.indexOf('=');
  const [name, url] = [named.slice(0, split), named.slice(split + 1)];
  if (split < 1 || !URL.canParse(url)) throw new Error(`--peer takes NAME=URL, not ${named}`);
  const unknown = 'as it was set up';
  const peer: Peer = {
    name,
    title: url,
    url: url.replace(/\/$/, ''),
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    processes: pid === undefined ? [] : [{ name, tree: Number(pid) }],
    streams: true,
    meanwhile: {
      authenticated: unknown,
      limited: unknown,
      recorded: unknown,
      durable: unknown,
      signed: unknown,
    },
  };
  return { ...peer, streams: (await statusOfStream(peer)) === 200 };
}

async function statusOfStream({ url, headers }: Target): Promise<number> {
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"model":"bench","stream":true,"messages":[{"role":"user","content":"hello"}]}',
  });
  await response.arrayBuffer();
  return response.status;
}

async function untilAnswers(url: string): Promise<void> {
  const end = Date.now() + READY_MS;
  for (;;) {
    const answered = await fetch(url).then(
      async (response) => (await response.arrayBuffer(), true),
      () => false,
    );
    if (answered) return;
    if (Date.now() > end) throw new Error(`${url} did not answer within ${READY_MS / 1_000} s`);
    await sleep(200);
  }
}
