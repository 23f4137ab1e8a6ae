import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { PackProblem } from '#shared/packs/problem.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import type { ArchiveFile } from './archive-file.ts';
import { judgeInTurn } from './judge-in-turn.ts';
import type { ShardFindings, ShardTask, ShardTerms } from './shard-judge.ts';
import type { JudgedShard } from './pack-walk.ts';
import type { ThreadMessage, ThreadStart } from './shard-thread.ts';

/** Each holds a shard: four use what four cores give, and stay within the memory of a small machine. */
const THREADS_MAX = 4;
/** A receipt is small and soon forgotten: a larger heap would only be cleaned less often. */
const HEAP = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 };
/** Below this many receipts starting threads takes longer than judging. */
const THREADED_FROM = 2_000;

/** Judges shards and gives their findings in the order of the shards. */
export async function* judgeShards(
  { path, archive }: { path: string; archive: ArchiveFile },
  terms: ShardTerms,
  tasks: Iterable<ShardTask>,
  { receipts, onLines }: { receipts: number; onLines: (lines: number) => void },
): AsyncGenerator<JudgedShard> {
  if (receipts < THREADED_FROM) {
    const inTurn = judgeInTurn({ archive, methodologies: shippedMethodologies });
    yield* inTurn(terms, tasks, { receipts, onLines });
    return;
  }
  const pool = new ThreadPool({ packPath: path, terms }, onLines);
  const underWay: { task: ShardTask; findings: Promise<ShardFindings> }[] = [];
  try {
    for (const task of tasks) {
      const findings = pool.judge(task);
      // Its failure is seen when its turn comes.
      findings.catch(() => {});
      underWay.push({ task, findings });
      if (underWay.length < pool.size) continue;
      const first = underWay.shift()!;
      yield { task: first.task, findings: await first.findings };
    }
    for (const { task, findings } of underWay) yield { task, findings: await findings };
  } finally {
    await pool.close();
  }
}

/** A thread, and who waits for what it is doing. */
interface Judge {
  worker: Worker;
  waiting?: { resolve: (findings: ShardFindings) => void; reject: (error: Error) => void };
}

/** As many shards are handed out as there are threads, so that memory is bounded. */
class ThreadPool {
  readonly size = Math.max(1, Math.min(availableParallelism(), THREADS_MAX));
  readonly #start: ThreadStart;
  readonly #onLines: (lines: number) => void;
  readonly #idle: Judge[] = [];
  readonly #all: Judge[] = [];

  constructor(start: ThreadStart, onLines: (lines: number) => void) {
    this.#start = start;
    this.#onLines = onLines;
  }

  judge(task: ShardTask): Promise<ShardFindings> {
    const judge = this.#idle.pop() ?? this.#startThread();
    return new Promise<ShardFindings>((resolve, reject) => {
      judge.waiting = { resolve, reject };
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
      judge.worker.postMessage(task);
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map(({ worker }) => worker.terminate()));
  }

  #startThread(): Judge {
    const worker = new Worker(new URL('shard-thread.ts', import.meta.url), {
      workerData: this.#start,
      resourceLimits: HEAP,
    });
    const judge: Judge = { worker };
    worker.on('message', (message: ThreadMessage) => this.#hear(judge, message));
    worker.on('error', (error: Error) => judge.waiting?.reject(error));
    worker.on('exit', () => judge.waiting?.reject(new Error('a thread ended early')));
    this.#all.push(judge);
    return judge;
  }

  #hear(judge: Judge, message: ThreadMessage): void {
    if (message.type === 'lines') return this.#onLines(message.lines);
    const { waiting } = judge;
    delete judge.waiting;
    this.#idle.push(judge);
    if (message.type === 'findings') waiting?.resolve(message.findings);
    else if (message.type === 'error') waiting?.reject(new Error(message.message));
    else waiting?.reject(new PackProblem(message.code, message.place, message.message));
  }
}
