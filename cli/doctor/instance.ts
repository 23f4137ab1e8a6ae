import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Finding, ok, problem } from './finding.ts';

/** What the doctor needs of `dev.json`, which the embedded mode keeps while it runs. */
export interface EmbeddedInstance {
  base_url: string;
  database_url: string;
  redis_url: string;
  processes: { role: string; pid: number; metrics_port: number }[];
}

const PROBE_MS = 2_000;

/** The embedded instance of this data directory, if one is running. */
export async function embeddedInstance(dataDir: string): Promise<EmbeddedInstance | undefined> {
  const text = await readFile(join(dataDir, 'dev.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as EmbeddedInstance;
  } catch {
    return undefined;
  }
}

/** Asks every process of the instance whether it is ready. */
export function examineProcesses({ processes }: EmbeddedInstance): Promise<Finding[]> {
  return Promise.all(
    processes.map(async ({ role, pid, metrics_port: port }) => {
      const name = `process ${role}`;
      try {
        const reply = await fetch(`http://127.0.0.1:${port}/readyz`, {
          signal: AbortSignal.timeout(PROBE_MS),
        });
        const { failing = [] } = (await reply.json()) as { failing?: string[] };
        if (reply.ok) return ok(name, `ready (pid ${pid})`);
        return problem(name, `not ready: ${failing.join(', ') || reply.status}`, 'see its log');
      } catch {
        const fix = 'docket up starts it again by itself; when it does not, see its log';
        return problem(name, `does not answer on port ${port} (pid ${pid})`, fix);
      }
    }),
  );
}
