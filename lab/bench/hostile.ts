/**
 * What one hostile key does to everybody else: for some seconds it sends, ten at once, bodies that cost more than they
 * weigh, while another organisation asks small questions and the api is asked whether it is well. Prints how long those
 * two wait, the most processor time that the event loops of the api and of the inference worker spent without looking up,
 * and the memory of the api. Usage: npm run bench hostile [seconds per body]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readDevFile } from '#embedded/launcher/dev-file.ts';
import { readNumbers } from './support/arguments.ts';

const AT_ONCE = 10;
const QUESTIONS_EACH_MS = 25;
const WARM_MS = 35_000;
const BODY_BYTES = 20 * 1024 * 1024 - 1_024;
/** So many vectors of 1,024 numbers are 19 MB of JSON. */
const STORED = 'stored answer';
const STORED_INPUTS = 850;
const MIB = 1_048_576;

const chat = (content: string): string =>
  `{"model":"llama-3.1-8b","messages":[{"role":"user","content":"${content}"}]}`;
const beside = (values: string): string =>
  `{"model":"llama-3.1-8b","messages":[{"role":"user","content":"hello"}],"metadata":[${values}]}`;
const filled = (piece: string): string => piece.repeat(Math.floor(BODY_BYTES / piece.length));
const BODIES: Record<string, [path: string, body: string]> = {
  'nothing else': ['', ''],
  'empty objects': ['/chat/completions', `{"model":"m","messages":[${filled('{},')}{}]}`],
  'ids of spaces': [
    '/embeddings',
    `{"model":"qwen3-embedding-8b","input":[${'220,'.repeat(1_000_000)}220]}`,
  ],
  'long text': ['/chat/completions', chat(filled('a bomb of words '))],
  'one long word': ['/chat/completions', chat('жщ'.repeat(250_000))],
  escapes: ['/chat/completions', chat(filled(String.raw`\n`))],
  'short texts': ['/chat/completions', beside(`${'"bomb and gas",'.repeat(1_100_000)}0`)],
  'nested arrays': [
    '/chat/completions',
    beside(`${`${'['.repeat(120)}${']'.repeat(120)},`.repeat(800)}0`),
  ],
  // The one among them that is run: nothing of it has tokens.
  image: [
    '/chat/completions',
    `{"model":"llama-3.1-8b","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${filled('QUJD').slice(0, -1_024)}"}}]}]}`,
  ],
  // A small request; its answer of 19 MB is made once and given back from then on.
  [STORED]: [
    '/embeddings',
    `{"model":"qwen3-embedding-8b","dimensions":1024,"input":[${'"a",'.repeat(STORED_INPUTS)}"a"]}`,
  ],
};

if (process.argv[2] === 'attack') {
  await attack(process.argv.slice(3) as [string, string, string, string]);
  process.exit();
}

const { seconds } = readNumbers('hostile [seconds per body]', { seconds: 6 });
const dataDir = mkdtempSync(join(tmpdir(), 'docket-hostile-'));
const loopDir = mkdtempSync(join(tmpdir(), 'docket-loops-'));
const gateway = fork(join(import.meta.dirname, '../../cli/docket.ts'), ['up'], {
  stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  env: {
    ...process.env,
    PORT: '0',
    DOCKET_DATA_DIR: dataDir,
    SANDBOX_TOKENS_PER_SECOND: '0',
    LOOP_CPU_DIR: loopDir,
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'gateway/loop-cpu.ts')}`,
  },
});
gateway.stdout!.resume();
try {
  const dev = await ready(gateway);
  const api = dev.processes.find(({ role }) => role === 'api')!;
  const worker = dev.processes.find(({ role }) => role === 'inference')!;
  const url = dev.base_url;
  for (let i = 0; i < 200; i += 1) await ask(url, dev.api_key);
  // By then the api has started the thread that reads large bodies, as one has that serves for a minute.
  await sleep(WARM_MS);
  for (const [name, [path]] of Object.entries(BODIES)) {
    const begun = Date.now();
    const end = Date.now() + seconds * 1_000;
    // A process of its own: whoever makes such bodies has no time to look at a clock.
    const attacker =
      path === ''
        ? null
        : fork(import.meta.filename, ['attack', name, url, dev.keys.audit, String(end)]);
    const told = attacker === null ? Promise.resolve([{}]) : once(attacker, 'message');
    const questions: Promise<number>[] = [];
    const health: Promise<number>[] = [];
    let memory = 0;
    while (Date.now() < end) {
      questions.push(ask(url, dev.api_key));
      health.push(took(() => fetch(`http://127.0.0.1:${api.metrics_port}/healthz`)));
      memory = Math.max(memory, residentBytes(api.pid));
      await sleep(QUESTIONS_EACH_MS);
    }
    const [asked, well] = [await Promise.all(questions), await Promise.all(health)];
    const [answers] = await told;
    const loops = [api, worker].map(({ pid }) => mostAtOnce(pid, begun));
    process.stdout.write(
      `${name.padEnd(16)} others p50 ${at(asked, 0.5)} p99 ${at(asked, 0.99)}` +
        `  health p99 ${at(well, 0.99)} max ${at(well, 1)}  loops ${loops.join(' and ')}` +
        `  api ${Math.round(memory / MIB)} MiB` +
        `  answers ${JSON.stringify(answers)}\n`,
    );
  }
} finally {
  gateway.kill('SIGTERM');
  if (gateway.exitCode === null) await once(gateway, 'exit');
  for (const one of [dataDir, loopDir]) rmSync(one, { recursive: true, force: true });
}

async function attack([name, url, key, end]: [string, string, string, string]): Promise<void> {
  // It would have a machine of its own, so here it gets what the gateway leaves.
  setPriority(19);
  const [path, text] = BODIES[name]!;
  const body = Buffer.from(text);
  const headers: Record<string, string> = name === STORED ? { 'idempotency-key': STORED } : {};
  const statuses: Record<number, number> = {};
  const one = async (): Promise<void> => {
    while (Date.now() < Number(end)) {
      const status = await send(`${url}${path}`, key, body, headers);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  await new Promise((resolve) => process.send!(statuses, resolve));
}

async function ready(child: ChildProcess) {
  for (;;) {
    if (child.exitCode !== null) throw new Error('the gateway did not start');
    const dev = await readDevFile(dataDir);
    if (dev !== undefined) return dev;
    await sleep(200);
  }
}

async function send(
  url: string,
  key: string,
  body: string | Buffer<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<number> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

/** Milliseconds until a small question is answered. */
function ask(url: string, key: string): Promise<number> {
  return took(() => send(`${url}/chat/completions`, key, chat('Why is the sky blue?')));
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Processor time that the event loop of a process spent at most between two looks at its timers, since `begun`. */
function mostAtOnce(pid: number, begun: number): string {
  const notes = readFileSync(join(loopDir, String(pid)), 'utf8')
    .trim()
    .split('\n');
  const since = notes
    .map((line) => line.split(' ').map(Number))
    .filter(([noted]) => noted! > begun);
  return `${Math.max(0, ...since.map(([, ms]) => ms!)).toFixed(0)} ms`;
}

function at(samples: number[], share: number): string {
  const sorted = samples.toSorted((a, b) => a - b);
  return `${sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(0)} ms`;
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
}
