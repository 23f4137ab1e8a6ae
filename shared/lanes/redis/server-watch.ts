import type { Redis, RedisOptions } from 'ioredis';
import { readyKey } from '../keys.ts';
import type { SentinelTarget } from '#shared/kernel/redis-url.ts';
import type { RedisClient } from './connect.ts';
import { checkingConnector, type Info } from './connectors.ts';
import { connectorBehind, listenForFailovers, type ServerAddress } from './sentinel.ts';

/** `lost`: the server that answers is not one to write to. `replaced`: another one answers at its address. */
export type ServerChange = { kind: 'lost'; why: string } | { kind: 'found' } | { kind: 'replaced' };

/** A server that answers so was demoted, or is not one yet. */
const UNUSABLE = /^(READONLY|LOADING|MASTERDOWN)\b/;
/** A server that takes connections and refuses what is written is not connected to in a loop. */
const RENEW_MS = 1_000;
const READY_MS = 1_000;

/** Options of a connection that is watched. */
export type WatchOptions = Required<Pick<RedisOptions, 'Connector' | 'reconnectOnError'>>;

interface Watched {
  client: Redis | undefined;
  runId: string | undefined;
  /** How often a server to write to had been found when this one was asked last. */
  found: number;
}

/**
 * Sees to it that all connections of one process lead to the one server that takes writes. A demoted server keeps its
 * connections, and reads on them succeed: so when one connection learns that its server is not the one, or that another
 * answers at its address, all of them are made anew, which resolves the name anew.
 */
export class ServerWatch {
  readonly #onChange: (change: ServerChange) => void;
  readonly #connections = new Set<Watched>();
  #runId: string | undefined;
  /** Why there is no server to write to. */
  #lost: string | undefined;
  #renewedAt = -Infinity;
  /** How often there was one again. */
  #found = 0;
  #listener: ReturnType<typeof listenForFailovers> | undefined;

  constructor(onChange: (change: ServerChange) => void) {
    this.#onChange = onChange;
  }

  /**
   * Opens a connection that is watched, as its copies are, which are opened with what is theirs besides: BullMQ parks on
   * them. Those behind Sentinel ask there for their server, and hear together of another.
   */
  connect(open: (options: WatchOptions) => Redis, target?: SentinelTarget): Redis {
    const watched: Watched = {
      client: undefined,
      runId: undefined,
      found: this.#found,
    };
    const mayUse = (info: Info): boolean => this.#mayUse(watched, info);
    const client = open({
      Connector: target === undefined ? checkingConnector(mayUse) : connectorBehind(target, mayUse),
      reconnectOnError: (error) => {
        const [refusal] = UNUSABLE.exec(error.message) ?? [];
        if (refusal !== undefined) this.#lose(watched, refusal);
        return false;
      },
    });
    client.duplicate = (override) =>
      this.connect((watch) => open({ ...override, ...watch }), target);
    watched.client = client;
    this.#connections.add(watched);
    if (target !== undefined)
      this.#listener ??= listenForFailovers(target, (at) => this.#moveTo(at));
    client.once('end', () => this.#left(watched));
    return client;
  }

  #left(watched: Watched): void {
    this.#connections.delete(watched);
    if (this.#connections.size > 0) return;
    this.#listener?.stop();
    this.#listener = undefined;
  }

  /** A server that is cut off from Sentinels, and not from here, keeps its connections: what is written to it is lost. */
  #moveTo({ host, port }: ServerAddress): void {
    for (const { client } of this.#connections) {
      const isThere = client?.options.host === host && client.options.port === port;
      if (client?.status === 'ready' && !isThere) client.disconnect(true);
    }
  }

  /** For readiness. Rejects when nothing can be written. */
  async write(client: RedisClient, processId: string): Promise<void> {
    if (this.#lost !== undefined) {
      // No other command may be sent meanwhile whose refusal would have it asked anew.
      this.#renewAll();
      throw new Error(this.#lost);
    }
    await client.set(readyKey(processId), '1', 'PX', READY_MS);
  }

  /** Whether a new connection leads to the server to write to; otherwise it is closed and made anew. */
  #mayUse(watched: Watched, { role = 'master', run_id: runId }: Info): boolean {
    if (role !== 'master') {
      this.#lose(watched, `its role is ${role}`);
      return false;
    }
    watched.runId = runId;
    const isAnother = this.#runId !== undefined && runId !== undefined && runId !== this.#runId;
    this.#runId = runId ?? this.#runId;
    if (this.#lost !== undefined) {
      this.#found += 1;
      this.#onChange({ kind: 'found' });
    } else if (isAnother) this.#onChange({ kind: 'replaced' });
    this.#lost = undefined;
    watched.found = this.#found;
    if (isAnother) this.#renew((other) => other !== watched && other.runId !== runId);
    return true;
  }

  #lose(watched: Watched, why: string): void {
    if (this.#lost === undefined && watched.found !== this.#found) {
      // It may have said so before another connection found the server promoted: it is asked anew.
      watched.found = this.#found;
      if (watched.client?.status === 'ready') watched.client.disconnect(true);
      return;
    }
    if (this.#lost === undefined) this.#onChange({ kind: 'lost', why });
    this.#lost = why;
    this.#renewAll();
  }

  #renewAll(): void {
    const now = performance.now();
    if (now - this.#renewedAt < RENEW_MS) return;
    this.#renewedAt = now;
    this.#renew(() => true);
  }

  #renew(which: (connection: Watched) => boolean): void {
    for (const one of this.#connections)
      if (one.client?.status === 'ready' && which(one)) one.client.disconnect(true);
  }
}
