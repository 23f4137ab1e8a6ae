import { Cluster } from 'ioredis';
import { PATIENCE } from '#patience';
import type { RedisClient } from './connect.ts';

/** A replica on the same network answers in under a millisecond; one that needs this long is not keeping up. */
const REPLICA_MS = 500 * PATIENCE;
/** One that did not answer, or is not there (a replica that has become master has none), is asked again this often. */
const LOOK_EVERY_MS = 1_000;
/**
 * And is given this long. All that stands behind on the connection waits as well, on a server with little to do for up
 * to a tenth of a second, since that is how often it looks at its clock.
 */
const LOOK_MS = 10;
/** A slot moves once, or is being moved: more redirections than that are a cluster that does not agree with itself. */
const REDIRECTIONS_MAX = 5;
/** Refusals of a node that has not run the command. */
const NOT_HERE = /^(MOVED|ASK|TRYAGAIN) /;

type Command = [name: string, ...args: (string | number | Buffer)[]];
type Answer = [error: Error | null, result: unknown];

interface Call {
  key: string;
  command: Command;
  redirections: number;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** Clients of a server behind Sentinel. */
const behindSentinel = new WeakSet<object>();

/** Says of a client that Sentinel may name another server in the place of its own. */
export function markBehindSentinel<Client extends RedisClient>(client: Client): Client {
  behindSentinel.add(client);
  return client;
}

/** Whether another server may take the place of one that is written to: that of a cluster, or one behind Sentinel. */
export function mayFailOver(client: Pick<RedisClient, 'isCluster'>): boolean {
  return client.isCluster || behindSentinel.has(client);
}

/**
 * Sends a command. On a cluster with replicas, or behind Sentinel, it resolves once one of them has what was written, too:
 * until then a master may die and take the write with it, and the caller gets an error, not a promise that is broken later.
 * A replica that is away or behind does not stop anything: after half a second the master's word is taken, and from then on
 * at once, until it answers again.
 */
export function callReplicated(
  client: RedisClient,
  key: string,
  ...command: Command
): Promise<unknown> {
  if (!hasReplicas(client)) return client.call(...command);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  replicationOf(client, key).take({ key, command, redirections: 0, resolve, reject });
  return promise;
}

/** Sentinel tells a client of none: whether there are any is learned from what WAIT answers. */
function hasReplicas(client: RedisClient): boolean {
  return client instanceof Cluster ? client.nodes('slave').length > 0 : mayFailOver(client);
}

const replications = new WeakMap<RedisClient, Map<string, Replication>>();

function replicationOf(client: RedisClient, key: string): Replication {
  const known = replications.get(client) ?? new Map<string, Replication>();
  replications.set(client, known);
  // One server has one connection, on which they would wait for each other.
  const what = client.isCluster ? (/^\{[^}]+\}/.exec(key)?.[0] ?? key) : '';
  const replication = known.get(what) ?? new Replication(client);
  known.set(what, replication);
  return replication;
}

/**
 * The calls of one shard, or one inbox, or of one server, on one connection. They are sent in rounds of which each ends with
 * one WAIT: what comes while a round is under way is the next one. A WAIT for each call would make them stand in line, each
 * for as long as the replica takes, and seconds where there is none.
 */
class Replication {
  readonly #client: RedisClient;
  #gathered: Call[] = [];
  #isUnderWay = false;
  #isBehind = false;
  #lookAt = 0;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  take(call: Call): void {
    if (!this.#isBehind) {
      this.#gathered.push(call);
      if (!this.#isUnderWay) void this.#sendRounds();
    } else if (performance.now() < this.#lookAt) {
      this.#sendAlone(call);
    } else {
      this.#lookAt = performance.now() + LOOK_EVERY_MS;
      void this.#sendRound([call], LOOK_MS);
    }
  }

  async #sendRounds(): Promise<void> {
    this.#isUnderWay = true;
    while (this.#gathered.length > 0) {
      const calls = this.#gathered;
      this.#gathered = [];
      if (this.#isBehind) for (const call of calls) this.#sendAlone(call);
      else await this.#sendRound(calls, REPLICA_MS);
    }
    this.#isUnderWay = false;
  }

  #sendAlone({ command, resolve, reject }: Call): void {
    this.#client.call(...command).then(resolve, reject);
  }

  /** In one pipeline, because WAIT is about what its own connection has written. Never rejects. */
  async #sendRound(calls: readonly Call[], waitMs: number): Promise<void> {
    const pipeline = this.#client.pipeline();
    for (const { command } of calls) pipeline.call(...command);
    let answers: Answer[];
    try {
      answers = (await pipeline.call('WAIT', 1, waitMs).exec())!;
    } catch (error) {
      for (const { reject } of calls) reject(error);
      return;
    }
    const [notWaited, replicas] = answers[calls.length]!;
    // Learned from what failed, too: a master that has just taken over has no replica.
    this.#isBehind = notWaited !== null || Number(replicas) === 0;
    if (this.#isBehind) this.#lookAt = performance.now() + LOOK_EVERY_MS;
    for (const [i, call] of calls.entries()) {
      const [error, result] = answers[i]!;
      const failure = error ?? notWaited;
      if (failure === null) call.resolve(result);
      else if (!NOT_HERE.test(failure.message)) call.reject(failure);
      else this.#takeAgain(call, failure);
    }
  }

  /** The client follows a redirection of a single command, and learns from it. */
  #takeAgain(call: Call, failure: Error): void {
    if (call.redirections === REDIRECTIONS_MAX) return call.reject(failure);
    const again = { ...call, redirections: call.redirections + 1 };
    this.#client.exists(call.key).then(() => this.take(again), call.reject);
  }
}
