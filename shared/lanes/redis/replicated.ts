import { Cluster } from 'ioredis';
import type { RedisClient } from './connect.ts';

/** A replica on the same network answers in under a millisecond; one that needs this long is not keeping up. */
const REPLICA_MS = 500;
/**
 * One that did not answer last time (a shard whose replica has become its master has none), or whose master failed, is
 * given this long; and so is one that another call waits for: they wait one after another, and half a second each would
 * add up to minutes of every caller.
 */
const BEHIND_MS = 10;
/** A slot moves once, or is being moved: more redirections than that are a cluster that does not agree with itself. */
const REDIRECTIONS_MAX = 5;
/** Refusals of a node that has not run the command. */
const NOT_HERE = /^(MOVED|ASK|TRYAGAIN) /;

/** How it stands with the replica of a shard, or of an inbox, on one connection. */
interface Standing {
  /** It did not answer last time. */
  isBehind: boolean;
  /** A call gives it half a second at present. */
  isAwaited: boolean;
}

const standings = new WeakMap<Cluster, Map<string, Standing>>();

function standingOf(client: Cluster, key: string): Standing {
  const known = standings.get(client) ?? new Map<string, Standing>();
  standings.set(client, known);
  const what = /^\{[^}]+\}/.exec(key)?.[0] ?? key;
  const standing = known.get(what) ?? { isBehind: false, isAwaited: false };
  known.set(what, standing);
  return standing;
}

type Argument = string | number | Buffer;

/**
 * Sends a command. On a cluster with replicas it resolves once one of them has what was written, too: until then a
 * master may die and take the write with it, and the caller gets an error, not a promise that is broken later. A
 * replica that is away or behind does not stop anything: after half a second the master's word is taken, and sooner
 * until it answers again and by the calls beside the one that waits so long.
 */
export async function callReplicated(
  client: RedisClient,
  key: string,
  name: string,
  ...args: Argument[]
): Promise<unknown> {
  if (!(client instanceof Cluster) || client.nodes('slave').length === 0) {
    return client.call(name, ...args);
  }
  const standing = standingOf(client, key);
  for (let redirections = 0; ; redirections += 1) {
    const isPatient = !standing.isBehind && !standing.isAwaited;
    if (isPatient) standing.isAwaited = true;
    let answers: [error: Error | null, result: unknown][];
    try {
      // In one pipeline, because WAIT is about what its own connection has written.
      const pipeline = client
        .pipeline()
        .call(name, ...args)
        .call('WAIT', 1, isPatient ? REPLICA_MS : BEHIND_MS);
      answers = (await pipeline.exec())!;
    } finally {
      if (isPatient) standing.isAwaited = false;
    }
    const [[error, result], [notWaited, replicas]] = answers as [
      [Error | null, unknown],
      [Error | null, unknown],
    ];
    // Learned from what failed, too: a master that has just taken over has no replica.
    standing.isBehind = notWaited !== null || Number(replicas) === 0;
    if (error === null && notWaited === null) return result;
    const failure = error ?? notWaited!;
    if (!NOT_HERE.test(failure.message) || redirections === REDIRECTIONS_MAX) throw failure;
    // The client follows a redirection of a single command, and learns from it.
    await client.exists(key);
  }
}
