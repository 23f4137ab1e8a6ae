import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DevFile, readDevFile } from '#embedded/launcher/dev-file.ts';
import type { Children } from './child.ts';
import { findInTree, type NamedProcess } from './processes.ts';

export interface Gateway {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Where its stores are, and its keys. */
  dev: DevFile;
  /** Its own, its stores', and what else the launcher has started. */
  processes: NamedProcess[];
}

/**
 * Starts the gateway of a checkout, as `docket up` runs it, in front of an upstream on this machine; without one, with
 * everything as it is shipped.
 */
export async function launchGateway(
  children: Children,
  checkout: string,
  dataDir: string,
  upstreamPort?: string,
): Promise<Gateway> {
  mkdirSync(dataDir, { recursive: true });
  const child = children.fork(join(checkout, 'cli/start.js'), ['up'], {
    PORT: '0',
    DOCKET_DATA_DIR: dataDir,
    LOG_LEVEL: 'info',
    ...(upstreamPort === undefined ? {} : { CATALOGUE: writeCatalogue(dataDir, upstreamPort) }),
  });
  child.stdout!.resume();
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the gateway of ${checkout} did not start`);
    const dev = await readDevFile(dataDir);
    if (dev !== undefined) {
      return {
        url: dev.base_url,
        dev,
        headers: { authorization: `Bearer ${dev.api_key}` },
        processes: [
          ...processesOf(dev),
          ...named('redis', findInTree(child.pid!, 'redis-server')),
          ...named('postgres', findInTree(child.pid!, 'postgres')),
          { name: 'launcher', tree: child.pid! },
        ],
      };
    }
    await sleep(200);
  }
}

/** Each process once, by its roles. */
function processesOf({ processes }: DevFile): NamedProcess[] {
  const roles = Map.groupBy(processes, ({ pid }) => pid);
  return [...roles].map(([pid, rows]) => ({
    name: rows.length === 1 ? rows[0]!.role : 'background',
    pid,
  }));
}

function named(name: string, roots: readonly number[]): NamedProcess[] {
  return roots.map((tree) => ({ name, tree }));
}

function writeCatalogue(dataDir: string, port: string): string {
  const path = join(dataDir, 'catalogue.yaml');
  writeFileSync(
    path,
    `version: 1
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
`,
  );
  return path;
}
