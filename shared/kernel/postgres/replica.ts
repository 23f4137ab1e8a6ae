import type { Pool } from 'pg';
import { PATIENCE } from '#patience';
import { Fault } from '../errors.ts';
import { placeOf, ReplicaLag } from '../replica-lag.ts';
import { createPool, type PoolOptions } from './pool.ts';
import { queryRow, type Row, statement } from './statement.ts';
import type { Queryable } from './transaction.ts';

/** Where is read what may be some seconds old. */
export interface Reads {
  /**
   * Runs `work` on the replica where that can be used, else on the primary. Work that fails on the replica runs
   * on the primary anew, so it must do nothing but read.
   */
  run<T>(work: (db: Pool) => Promise<T>): Promise<T>;
}

/** Thrown by work that misses on the replica what it needs: the primary is read, and the replica stays in use. */
export class NotThereYet extends Error {
  override name = 'NotThereYet';
}

/** What a read ends with that waits for a replica which is given up. */
class GivenUp extends Error {
  override name = 'GivenUp';
}

/** Errors of reads on the replica that are no failure of it, or are known already. */
const SAYS_NOTHING = [Fault, NotThereYet, GivenUp] as const;

/** Reads of a process without a replica. */
export const primaryAlone = (pool: Pool): Reads => ({ run: (work) => work(pool) });

interface ReplicaEvents {
  /** It is used from now on. */
  used: () => void;
  /** It is not used until it is found fit again, for this reason. */
  leftOut: (reason: string) => void;
  /** Something was read from one of them. */
  read: (from: 'replica' | 'primary') => void;
}

export interface ReplicaOptions extends Omit<
  PoolOptions,
  'max' | 'statementTimeoutMs' | 'onError'
> {
  primaryUrl: string;
  events: ReplicaEvents;
  /** Monotonic milliseconds. */
  now?: () => number;
}

/**
 * What is read of a replica may be so old. Usage and the ledger come up to two seconds after an answer as it is, so nothing is
 * later than a caller has to expect already.
 */
export const BEHIND_MAX_MS = 2_000;
/** A fourth of that: a replica that keeps up is never left out because it was not looked at. */
const LOOK_MS = 500;
/** One that failed may be away for long. */
const LOOK_AT_FAILED_MS = 2_000;
/** A healthy server answers a look in a few milliseconds. What waits for a replica that gives no answer waits no longer. */
const ANSWER_MAX_MS = 1_000 * PATIENCE;
/** A list or a sum takes a fraction of a second; one that the replica has not read in this time is read from the primary. */
const READ_MAX_MS = 5_000 * PATIENCE;

const PRIMARY = statement(
  { place: 'text', system: 'text', database: 'text' },
  `select pg_current_wal_insert_lsn()::text as place,
     (select system_identifier::text from pg_control_system()) as system,
     (select oid::text from pg_database where datname = current_database()) as database`,
);
const REPLICA = statement(
  { place: 'text?', system: 'text', database: 'text', is_replica: 'bool' },
  `select pg_last_wal_replay_lsn()::text as place,
     (select system_identifier::text from pg_control_system()) as system,
     (select oid::text from pg_database where datname = current_database()) as database,
     pg_is_in_recovery() as is_replica`,
);

/** Why a server is no replica of another; undefined where it is one. */
export function whyNoReplica(
  primary: Row<typeof PRIMARY>,
  other: Row<typeof REPLICA>,
): string | undefined {
  if (other.system !== primary.system)
    return 'it is another PostgreSQL, and no replica of this one';
  if (other.database !== primary.database) return 'it is another database of the server';
  if (!other.is_replica) return 'it is a primary, and no replica';
  return placeOf(other.place) === undefined ? 'it does not say how far it is' : undefined;
}

/** What both say of themselves and of each other, the primary first: what the replica then holds, the primary had before. */
export async function compareServers(primary: Queryable, replica: Queryable) {
  const ours = (await queryRow(primary, PRIMARY))!;
  const theirs = (await queryRow(replica, REPLICA))!;
  return { ours, theirs };
}

/**
 * A replica under watch: it is looked at twice a second, and read from only while everything that was committed
 * `BEHIND_MAX_MS` ago is known to be there. A read that fails, or has no answer when a look has none, is the last one until a
 * look succeeds.
 */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #now: () => number;
  readonly #lag = new ReplicaLag();
  /** A connection to each for looks alone, which wait for no reads. */
  readonly #primary: Pool;
  readonly #replica: Pool;
  readonly #pools: Pool[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #looking: Promise<void> = Promise.resolve();
  #isLeftOut: string | undefined = 'it was not looked at yet';
  /** Ends the waiting of each read that is under way. */
  readonly #waiting = new Set<() => void>();

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#primary = this.#open(1, ANSWER_MAX_MS, options.primaryUrl);
    this.#replica = this.#open(1, ANSWER_MAX_MS);
  }

  /** Looks at it now and from now on. */
  start(): void {
    this.#looking = this.look();
  }

  /** Reads with connections of their own to the replica, `primary` where it cannot be used. */
  over(primary: Pool, max: number): Reads {
    const replica = this.#open(max, READ_MAX_MS);
    return { run: (work) => this.#run(work, primary, replica) };
  }

  /** How far it is behind at most, in milliseconds; undefined when that is not known. */
  behindMs(): number | undefined {
    return this.#lag.behindMs(this.#now());
  }

  /** One look, after which the next is due by itself. */
  async look(): Promise<void> {
    clearTimeout(this.#timer);
    let wait = LOOK_MS;
    const late = setTimeout(() => {
      this.#giveUp(new Error('it gives no answer'));
    }, ANSWER_MAX_MS);
    try {
      const at = this.#now();
      const { ours, theirs } = await compareServers(this.#primary, this.#replica);
      const why = whyNoReplica(ours, theirs);
      if (why !== undefined) throw new Error(why);
      this.#lag.noted(at, placeOf(ours.place)!);
      this.#lag.replayed(placeOf(theirs.place)!);
      if (this.#isFresh()) this.#take();
      else this.#leaveOut('it is too far behind');
    } catch (error) {
      this.#giveUp(error);
      wait = LOOK_AT_FAILED_MS;
    } finally {
      clearTimeout(late);
    }
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.start(), wait).unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#pools.map((pool) => pool.end()));
  }

  #open(max: number, statementTimeoutMs: number, url = this.#options.url): Pool {
    const { role, pooler, applicationName } = this.#options;
    const pool = createPool({
      url,
      pooler,
      applicationName,
      ...(role === undefined ? {} : { role }),
      max,
      statementTimeoutMs,
    });
    this.#pools.push(pool);
    return pool;
  }

  #isFresh(): boolean {
    const behind = this.behindMs();
    return behind !== undefined && behind <= BEHIND_MAX_MS;
  }

  async #run<T>(work: (db: Pool) => Promise<T>, primary: Pool, replica: Pool): Promise<T> {
    const { events } = this.#options;
    if (this.#isLeftOut === undefined && this.#isFresh()) {
      try {
        const read = await this.#unlessGivenUp(work(replica));
        events.read('replica');
        return read;
      } catch (error) {
        // A mistake of the caller is said by the primary, which knows of more.
        if (!SAYS_NOTHING.some((kind) => error instanceof kind)) this.#giveUp(error);
      }
    }
    events.read('primary');
    return work(primary);
  }

  /** When the replica is given up meanwhile, what still comes of the read is of no use. */
  #unlessGivenUp<T>(reading: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const end = (): void => reject(new GivenUp());
    this.#waiting.add(end);
    void reading.then(resolve, reject).finally(() => this.#waiting.delete(end));
    return promise;
  }

  #take(): void {
    if (this.#isLeftOut === undefined) return;
    this.#isLeftOut = undefined;
    this.#options.events.used();
  }

  #leaveOut(reason: string): void {
    if (this.#isLeftOut === reason) return;
    this.#isLeftOut = reason;
    this.#options.events.leftOut(reason);
  }

  /** Nothing waits for it any more, and nothing is known of it before the next look. */
  #giveUp(error: unknown): void {
    this.#lag.forget();
    this.#leaveOut(error instanceof Error ? error.message : String(error));
    for (const end of this.#waiting) end();
  }
}
