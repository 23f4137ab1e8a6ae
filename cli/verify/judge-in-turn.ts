import type { PackBytes } from './pack-file.ts';
import type { JudgeShards } from './pack-walk.ts';
import { judgeShard } from './shard-judge.ts';
import type { ShardTools } from './shard-lineage.ts';

/** Judges one shard after the other. @param settle waits for what a shard's verdict rests on */
export function judgeInTurn(
  tools: ShardTools,
  settle: () => Promise<void> = () => Promise.resolve(),
): JudgeShards {
  return async function* inTurn(terms, tasks, { onLines }) {
    for (const task of tasks) {
      const findings = judgeShard(tools, terms, task, onLines);
      await settle();
      yield { task, findings };
    }
  };
}

/** An archive that is in memory. */
export function inMemory(bytes: Uint8Array): PackBytes {
  return {
    size: bytes.length,
    read(offset, into) {
      const part = bytes.subarray(offset, offset + into.length);
      into.set(part);
      return part.length;
    },
  };
}
