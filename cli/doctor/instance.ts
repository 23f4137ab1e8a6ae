import { PATIENCE } from '#patience';
import type { DevFile } from '#embedded/launcher/dev-file.ts';
import { type Finding, ok, problem } from './finding.ts';

const PROBE_MS = 2_000 * PATIENCE;

/** Asks every process of the instance whether it is ready. */
export function examineProcesses({ processes }: DevFile): Promise<Finding[]> {
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
