/**
 * The cost of the gateway, beside a direct call to the upstream and beside a bare proxy of the same stack, in one run:
 * requests per second, latency, and CPU microseconds per request by process. Static upstream on the same machine, 1 KB
 * prompts, one process per role. Usage: npm run bench gateway [seconds per run]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readDevFile } from '#embedded/launcher/dev-file.ts';
import { cpuByProcess, type NamedProcess } from './gateway/cpu.ts';
import type { LoadResult } from './gateway/load.ts';

/** Seconds of load before anything is measured. */
const WARM_UP_S = 20;
const seconds = Number(process.argv[2] ?? 6);
const here = join(import.meta.dirname, 'gateway');
const children: ChildProcess[] = [];
const dataDir = mkdtempSync(join(tmpdir(), 'docket-bench-'));

try {
  const upstream = start('static-upstream.ts');
  const upstreamPort = await firstLine(upstream);
  const proxy = start('bare-proxy.ts', `http://127.0.0.1:${upstreamPort}`);
  const proxyPort = await firstLine(proxy);
  const gateway = await startGateway(upstreamPort);
  const rest: NamedProcess[] = [{ name: 'upstream', pid: upstream.pid! }];
  const direct = `http://127.0.0.1:${upstreamPort}/v1`;
  const bare = `http://127.0.0.1:${proxyPort}/v1`;
  // A process that runs for days has been optimised on every path that a request takes; so must this one be.
  await run(gateway.url, gateway.key, 64, WARM_UP_S);
  for (const connections of [1, 64, 256]) {
    process.stdout.write(`\n${connections} connection${connections === 1 ? '' : 's'}\n`);
    await measure('direct', direct, '', connections, rest);
    await measure('bare proxy', bare, '', connections, [
      ...rest,
      { name: 'proxy', pid: proxy.pid! },
    ]);
    await measure('docket', gateway.url, gateway.key, connections, [...rest, ...gateway.processes]);
  }
} finally {
  for (const child of children) child.kill('SIGTERM');
  for (const child of children)
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  rmSync(dataDir, { recursive: true, force: true });
}

function start(file: string, ...args: string[]): ChildProcess {
  const child = fork(join(here, file), args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  children.push(child);
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [chunk] = (await once(child.stdout!, 'data')) as [Buffer];
  return chunk.toString().trim();
}

async function startGateway(upstreamPort: string) {
  const catalogue = join(dataDir, 'catalogue.yaml');
  writeFileSync(catalogue, catalogueFor(upstreamPort));
  const child = fork(join(import.meta.dirname, '../cli/docket.ts'), ['up'], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...process.env,
      PORT: '0',
      DOCKET_DATA_DIR: dataDir,
      CATALOGUE: catalogue,
      LOG_LEVEL: 'info',
    },
  });
  child.stdout!.resume();
  children.push(child);
  for (;;) {
    if (child.exitCode !== null) throw new Error('the gateway did not start');
    const dev = await readDevFile(dataDir);
    if (dev !== undefined) {
      const processes = dev.processes.map(({ role, pid }) => ({ name: role, pid }));
      return {
        url: dev.base_url,
        key: dev.api_key,
        processes: [...processes, ...storesOf(child.pid!)],
      };
    }
    await sleep(200);
  }
}

/** Redis and PostgreSQL are children of the launcher. */
function storesOf(launcher: number): NamedProcess[] {
  return [
    { name: 'redis', parent: launcher, command: 'redis-server' },
    { name: 'postgres', parent: launcher, command: 'postgres' },
  ];
}

async function run(
  url: string,
  key: string,
  connections: number,
  forSeconds: number,
): Promise<LoadResult> {
  const child = start('load.ts', url, key, String(connections), String(forSeconds));
  const [result] = (await once(child, 'message')) as [LoadResult];
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return result;
}

async function measure(
  name: string,
  url: string,
  key: string,
  connections: number,
  processes: NamedProcess[],
): Promise<void> {
  const before = cpuByProcess(processes);
  const result = await run(url, key, connections, seconds);
  const after = cpuByProcess(processes);
  const costs = [...after].map(
    ([process_, us]) =>
      `${process_} ${Math.round((us - (before.get(process_) ?? 0)) / result.total)}`,
  );
  process.stdout.write(
    `  ${name.padEnd(11)}${String(Math.round(result.perSecond)).padStart(7)} requests/s` +
      `  p50 ${result.p50.toFixed(2)} ms  p99 ${result.p99.toFixed(2)} ms  mean ${result.mean.toFixed(2)} ms` +
      `${result.failed > 0 ? `  FAILED ${result.failed}` : ''}\n${' '.repeat(13)}µs of CPU per request: ${costs.join('  ')}\n`,
  );
}

function catalogueFor(port: string): string {
  return `version: 1
regions:
  - { code: eu-west, name: Western Europe, zone: FRA, operator: { name: example, pue: 1.12, wue: 0.18 }, capacity: 10000, status: normal }
endpoints:
  - { name: static, adapter: openai-compatible, base_url: "http://127.0.0.1:${port}/v1", regions: [eu-west], timeout_ms: 60000 }
models:
  - id: bench
    kinds: [chat]
    context_window: 131072
    max_n: 1
    endpoints: [{ name: static, model: static }]
    footprint: { ref: llama-3.1-8b }
`;
}
