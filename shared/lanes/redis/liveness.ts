import { everySecond } from '#shared/kernel/every-second.ts';
import type { RedisClient } from './connect.ts';
import { mayFailOver } from './replicated.ts';
import { aliveKey, inboxKey } from '../keys.ts';
import { CLEAR_FIELD, encodeMessage } from '../wire-format.ts';
import type { RedisClocks } from './redis-clock.ts';

/** A process that misses this many milliseconds of heartbeats is taken for dead and its entries are claimed. */
const ALIVE_MS = 5_000;
/**
 * On a cluster a sign of life is lost with the master that held it, while the masters that others are asked on go on;
 * behind Sentinel processes find another server one after the other. It lasts longer than a promotion does: three times the
 * longest `cluster-node-timeout` that docs/stores.md names.
 */
const ALIVE_THROUGH_FAILOVER_MS = 15_000;
/** Between heartbeats: those of `everySecond`. */
const HEARTBEAT_MS = 1_000;
/**
 * After a longer silence of its own a process cannot say of others that they are dead: what kept it silent (a stopped
 * machine, a frozen Redis) may have kept them. Two heartbeats below `ALIVE_MS`, because theirs may have been older.
 */
const STALL_MS = ALIVE_MS - 2 * HEARTBEAT_MS;
/** An inbox outlives its owner by this much; then Redis forgets it, and replies to it are dropped. */
const INBOX_AFTERLIFE_MS = 60_000;

/** What stands in place of an address where a process has none. */
const NO_ADDRESS = '1';

export interface LivenessOptions {
  /** Up to which id the inbox has been read, so that the heartbeat can trim it. */
  lastRead: () => string;
  /** They learn with each heartbeat what time it is for Redis. */
  clocks?: Pick<RedisClocks, 'sample'>;
  /** Where workers on this machine reach the process without Redis. */
  address?: string | undefined;
}

/**
 * Keeps `alive:<process>` and the process's inbox in being. Replies are sent with NOMKSTREAM, so the inbox must exist
 * before the first request; after a loss of Redis's memory the next heartbeat makes it again.
 */
export class Liveness {
  readonly #client: RedisClient;
  readonly #processId: string;
  readonly #lastRead: () => string;
  #end = (): void => {};
  readonly #clocks: Pick<RedisClocks, 'sample'> | undefined;
  readonly #address: string;
  #beating: Promise<void> = Promise.resolve();
  /** When Redis last heard of this process, and until when others may still be waking; in milliseconds of a steady clock. */
  #heardAt = 0;
  #leaveOthersUntil = 0;

  constructor(
    client: RedisClient,
    processId: string,
    { lastRead, clocks, address = NO_ADDRESS }: LivenessOptions,
  ) {
    this.#client = client;
    this.#processId = processId;
    this.#lastRead = lastRead;
    this.#clocks = clocks;
    this.#address = address;
  }

  /**
   * Whether this process may take another, of which Redis has not heard, for dead. Not while Redis has not heard of this
   * one either, nor before the others have had the time to be heard again.
   */
  mayJudge(): boolean {
    const now = performance.now();
    return now - this.#heardAt <= STALL_MS && now >= this.#leaveOthersUntil;
  }

  async start(): Promise<void> {
    this.#heardAt = performance.now();
    await Promise.all([this.#beat(), this.#clocks?.sample()]);
    this.#end = everySecond(() => {
      this.#beating = this.#beat().catch(() => {
        // The connection reports its own errors; the next beat makes up for this one.
      });
      // Apart, because a master that is away answers when it is back.
      void this.#clocks?.sample();
    });
  }

  /** Says goodbye: the inbox goes at once, and the reaper may take what is left without waiting. */
  async stop(): Promise<void> {
    this.#end();
    await this.#beating;
    await Promise.all([
      this.#client.del(aliveKey(this.#processId)),
      this.#client.del(inboxKey(this.#processId)),
    ]);
  }

  async #beat(): Promise<void> {
    const inbox = inboxKey(this.#processId);
    const aliveMs = mayFailOver(this.#client) ? ALIVE_THROUGH_FAILOVER_MS : ALIVE_MS;
    const [, existed] = await Promise.all([
      this.#client.set(aliveKey(this.#processId), this.#address, 'PX', aliveMs),
      this.#client.pexpire(inbox, INBOX_AFTERLIFE_MS),
      this.#client.xtrim(inbox, 'MINID', after(this.#lastRead())),
    ]);
    const now = performance.now();
    if (now - this.#heardAt > STALL_MS) this.#leaveOthersUntil = now + aliveMs;
    this.#heardAt = now;
    if (existed === 1) return;
    await this.#client.xadd(inbox, '*', CLEAR_FIELD, encodeMessage({ kind: 'hello' }));
    await this.#client.pexpire(inbox, INBOX_AFTERLIFE_MS);
  }
}

/** The id that follows: trimming keeps its threshold, and the last answer read must not lie there until the next comes. */
function after(id: string): string {
  const [time, sequence] = id.split('-') as [string, string];
  return `${time}-${BigInt(sequence) + 1n}`;
}
