import { Cluster } from 'ioredis';
import type { RedisClient } from './connect.ts';

/** A replica on the same network answers in under a millisecond; one that needs this long is not keeping up. */
const REPLICA_MS = 500;
/** A slot moves once, or is being moved: more redirections than that are a cluster that does not agree with itself. */
const REDIRECTIONS_MAX = 5;
/** Refusals of a node that has not run the command. */
const NOT_HERE = /^(MOVED|ASK|TRYAGAIN) /;

type Argument = string | number | Buffer;

/**
 * Sends a command. On a cluster with replicas it resolves once one of them has what was written, too: until then a
 * master may die and take the write with it, and the caller gets an error, not a promise that is broken later. A
 * replica that is away or behind does not stop anything: after half a second the master's word is taken.
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
  for (let redirections = 0; ; redirections += 1) {
    // In one pipeline, because WAIT is about what its own connection has written.
    const pipeline = client
      .pipeline()
      .call(name, ...args)
      .call('WAIT', 1, REPLICA_MS);
    const [written, waited] = (await pipeline.exec())!;
    const [error, result] = written!;
    if (error === null && waited![0] === null) return result;
    const failure = error ?? waited![0]!;
    if (!NOT_HERE.test(failure.message) || redirections === REDIRECTIONS_MAX) throw failure;
    // The client follows a redirection of a single command, and learns from it.
    await client.exists(key);
  }
}
