import { parentPort, workerData } from 'node:worker_threads';
import { PackProblem } from '#shared/packs/problem.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { openArchive } from './archive-file.ts';
import { judgeShard, type ShardFindings, type ShardTask, type ShardTerms } from './shard-judge.ts';

/** A message from a thread to the pool. */
export type ThreadMessage =
  | { type: 'lines'; lines: number }
  | { type: 'findings'; findings: ShardFindings }
  | { type: 'problem'; code: PackProblem['code']; place: string; message: string }
  | { type: 'error'; message: string };

/** What a thread is started with. */
export interface ThreadStart {
  packPath: string;
  terms: ShardTerms;
}

/** A thread that judges the shards that it is sent, one after the other. */
const say = (message: ThreadMessage): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  parentPort?.postMessage(message);
};

const { packPath, terms } = workerData as ThreadStart;
const tools = { archive: openArchive(packPath), methodologies: shippedMethodologies };

parentPort?.on('message', (task: ShardTask) => {
  try {
    const findings = judgeShard(tools, terms, task, (lines) => say({ type: 'lines', lines }));
    say({ type: 'findings', findings });
  } catch (error) {
    if (error instanceof PackProblem) {
      const { code, place, message } = error;
      say({ type: 'problem', code, place, message });
    } else {
      say({ type: 'error', message: error instanceof Error ? error.message : String(error) });
    }
  }
});
