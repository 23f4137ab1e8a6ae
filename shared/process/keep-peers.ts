import { KNOWN, LANE_FORMAT } from '#shared/lanes/messages.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import {
  type Differences,
  type Peer,
  PeerProblem,
  Peers,
  registerFormat,
} from '#shared/lanes/redis/peers.ts';
import { buildName, readBuild } from './build.ts';
import { metricsOf } from './metrics.ts';
import type { ProcessContext } from './run-process.ts';

const LOOK_MS = 60_000;

/** Compares this process with the others of its lanes, when it starts and every minute. */
export interface KeptPeers {
  /** @throws PeerProblem when it must not serve beside them */
  join(): Promise<void>;
  /** For readiness: rejects when it must not serve beside them any more. */
  check(): Promise<void>;
  leave(): Promise<void>;
}

export function keepPeers(
  {
    config,
    log,
    registry,
    processId,
  }: Pick<ProcessContext, 'config' | 'log' | 'registry' | 'processId'>,
  client: RedisClient,
  catalogueDigest: () => string,
): KeptPeers {
  const { gauge } = metricsOf(registry);
  const peers = new Peers(client, processId);
  const startedAt = Date.now();
  const build = buildName(readBuild());
  let problem: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  const differing = gauge(
    'docket_peers_differing',
    'Processes of the same lanes that have another build, or another catalogue, than this one',
    ['of'],
  );
  const known = gauge(
    'docket_process_info',
    'Always 1; its labels are the build and the catalogue of this process',
    ['build', 'catalogue'],
  );
  const compare = async (): Promise<void> => {
    const me: Peer = {
      startedAt,
      shards: config.shards,
      ...LANE_FORMAT,
      knows: KNOWN,
      build,
      catalogue: catalogueDigest(),
    };
    known.reset();
    known.set({ build: me.build, catalogue: me.catalogue }, 1);
    tell(await peers.compare(me));
  };
  const tell = ({ problem: found, builds, catalogues }: Differences): void => {
    differing.set({ of: 'build' }, builds);
    differing.set({ of: 'catalogue' }, catalogues);
    if (found !== undefined && problem === undefined)
      log.error({ event: 'peers_disagree', why: found });
    problem = found;
  };
  return {
    async join() {
      try {
        await compare();
        if (problem !== undefined) throw new PeerProblem(problem);
        await registerFormat(client, { ...LANE_FORMAT, build });
      } catch (error) {
        // What it has said of itself would have others wait for it.
        if (error instanceof PeerProblem) await peers.leave();
        throw error;
      }
      timer = setInterval(() => {
        // The connection reports its own errors; the next look makes up for this one.
        compare().catch(() => {});
      }, LOOK_MS).unref();
    },
    check: () => (problem === undefined ? Promise.resolve() : Promise.reject(new Error(problem))),
    async leave() {
      clearInterval(timer);
      await peers.leave();
    },
  };
}
