import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { openArchive } from './archive-file.ts';
import { CannotJudge } from './cannot-judge.ts';
import {
  cannotBeJudged,
  judgePack,
  type JudgePackOptions,
  type PackVerdict,
} from './judge-pack.ts';
import { judgeShards } from './shard-pool.ts';
import { judgeTimestamps, timestampTrust } from './timestamps.ts';

export interface VerifyPackOptions extends JudgePackOptions {
  /** PEM of the roots of time-stamping authorities; without it no timestamp is looked at. */
  tsaTrust?: string;
}

/** Judges a pack on disk, its shards on as many threads as there are cores, up to four. */
export async function verifyPack(
  path: string,
  { tsaTrust, ...options }: VerifyPackOptions,
): Promise<PackVerdict> {
  const archive = openArchive(path);
  try {
    const authorities = tsaTrust === undefined ? undefined : timestampTrust(tsaTrust);
    return await judgePack(
      {
        archive,
        judgeShards: (...work) => judgeShards({ path, archive }, ...work),
        released: shippedMethodologies,
        ...(authorities === undefined
          ? {}
          : { judgeTimestamps: (anchored) => judgeTimestamps(anchored, authorities) }),
      },
      options,
    );
  } catch (error) {
    if (!(error instanceof CannotJudge)) throw error;
    return cannotBeJudged(error.message);
  } finally {
    archive.close();
  }
}
