import type { Credential, CredentialChange, CredentialObserver } from '#shared/keys/credential.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { failureOfStore } from '#shared/kernel/store-away.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { hashKey, isWellFormedKey } from '#shared/keys/format.ts';
import { stateAt } from '#shared/keys/lifecycle.ts';
import type { CredentialSource } from '#shared/keys/postgres/credentials.ts';
import { BatchedLoader } from './batched-loader.ts';
import { SecondChanceMap } from './second-chance-map.ts';

/** Served as it is up to this age. */
const FRESH_MS = 2_000;
/** Served up to this age while it is read again. 500 ms below the promised 5 s leave room for the read itself. */
const STALE_MAX_MS = 4_500;
/** How long keys in memory work while PostgreSQL is away. A revocation that happens meanwhile waits no longer than this. */
const OUTAGE_AGE_MAX_MS = DAY_MS;
/** After a failed read, entries are served for so long without another read. */
const OUTAGE_RETRY_MS = 500;
/** About 40 MB of credentials. */
const ENTRIES_MAX = 50_000;
/** A key that does not exist is not looked up again for this long; its creation ends that at once. */
const UNKNOWN_MS = 2_000;
const UNKNOWN_MAX = 10_000;
/** A read that a change overtakes is repeated; three changes to one key within one read do not happen. */
const OVERTAKEN_MAX = 3;
const NOT_CHECKED = 'The key could not be checked. Try again shortly.';

interface Entry {
  credential: Credential;
  /** When the read began that brought it (monotonic): it is at least as new as that. */
  readAt: number;
  refresh: Promise<unknown> | null;
}

/** A read under way. A change notice that arrives meanwhile makes its answer worthless. */
interface Read {
  overtaken: boolean;
  promise: Promise<Credential | null>;
}

export interface CredentialCacheOptions {
  source: CredentialSource;
  observer: CredentialObserver;
  /** Monotonic milliseconds, for ages. */
  monotonicNow?: () => number;
  /** Epoch milliseconds, for measuring how long a change took to arrive. */
  now?: () => number;
  entriesMax?: number;
}

/**
 * Keys and accounts in memory. A hit costs one SHA-256 and one look-up in a map, without a promise.
 *
 * Three things bound how long a revoked key can live here: the change notice drops it at once; without
 * the notice its age makes it read again within 4.5 s; and a read that was under way when the notice
 * came is thrown away, so it cannot bring the old state back. Only while PostgreSQL does not answer
 * are older entries served, and never one that a notice has dropped.
 */
export class CredentialCache {
  readonly #loader: BatchedLoader;
  readonly #observer: CredentialObserver;
  readonly #monotonicNow: () => number;
  readonly #now: () => number;
  readonly #entries: SecondChanceMap<Entry>;
  readonly #unknown: SecondChanceMap<number>;
  readonly #reads = new Map<string, Read>();
  /** Entries read before this moment may have missed a change. */
  #readAgainBefore = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: CredentialCacheOptions) {
    this.#loader = new BatchedLoader(options.source);
    this.#observer = options.observer;
    this.#monotonicNow = options.monotonicNow ?? (() => performance.now());
    this.#now = options.now ?? (() => Date.now());
    this.#entries = new SecondChanceMap(options.entriesMax ?? ENTRIES_MAX);
    this.#unknown = new SecondChanceMap(UNKNOWN_MAX);
  }

  /**
   * The credential of a bearer token, or null when there is no such key. Synchronous on a hit.
   * Throws or rejects with `internal_error` when the answer cannot be known now, and with what `mayRead` throws, which is
   * asked before a key is read that is not in memory.
   */
  lookup(
    token: string,
    mayRead: () => void = () => {},
  ): Credential | null | Promise<Credential | null> {
    const hash = hashKey(token);
    const entry = this.#entries.get(hash);
    const now = this.#monotonicNow();
    if (entry !== undefined) return this.#serve(hash, entry, now);
    // The checksum is only worth computing for what is not already known to be a key.
    if (!isWellFormedKey(token)) return null;
    const unknownSince = this.#unknown.get(hash);
    if (unknownSince !== undefined && now - unknownSince <= UNKNOWN_MS) {
      this.#observer.lookedUp('unknown');
      return null;
    }
    mayRead();
    this.#observer.lookedUp('miss');
    return this.#read(hash);
  }

  /** The same of a key that is known by its hash (hex) alone. */
  ofHash(hash: string): Credential | null | Promise<Credential | null> {
    const entry = this.#entries.get(hash);
    if (entry !== undefined) return this.#serve(hash, entry, this.#monotonicNow());
    this.#observer.lookedUp('miss');
    return this.#read(hash);
  }

  /** Whose key a token is and what it may, where it is in memory and works now, and its account too. */
  ownerOf(token: string): Pick<Credential, 'keyId' | 'orgId' | 'scopes'> | undefined {
    const credential = this.#entries.peek(hashKey(token))?.credential;
    if (credential === undefined) return undefined;
    const { keyState: state, expiresAt, accountState } = credential;
    const keyState = stateAt({ state, expiresAt, revokedAt: null }, this.#now());
    return accountState === 'active' && keyState === 'active' ? credential : undefined;
  }

  /** Whether a key is in memory that would work were PostgreSQL away. */
  holdsUsable(): boolean {
    const now = this.#monotonicNow();
    return this.#entries.some(({ readAt }) => now - readAt <= OUTAGE_AGE_MAX_MS);
  }

  /** To be called with every change notice. */
  changed(change: CredentialChange): void {
    if (change.kind === 'unknown') {
      this.#readAgainBefore = this.#monotonicNow();
      return;
    }
    if (change.kind === 'key') {
      this.#entries.delete(change.hash);
      this.#unknown.delete(change.hash);
      const read = this.#reads.get(change.hash);
      if (read !== undefined) read.overtaken = true;
    } else {
      this.#entries.deleteWhere((entry) => entry.credential.orgId === change.orgId);
      // Whose keys are being read is not known yet; reads are few and short.
      for (const read of this.#reads.values()) read.overtaken = true;
    }
    this.#observer.changeArrived(Math.max(0, this.#now() - change.at));
  }

  #serve(hash: string, entry: Entry, now: number): Credential | Promise<Credential | null> {
    const age = now - entry.readAt;
    const suspect = entry.readAt < this.#readAgainBefore;
    if (age <= FRESH_MS && !suspect) {
      this.#observer.lookedUp('hit');
      return entry.credential;
    }
    entry.refresh ??= this.#refresh(hash, entry);
    if (age <= STALE_MAX_MS && !suspect) {
      this.#observer.lookedUp('refreshing');
      return entry.credential;
    }
    if (now - this.#failedAt <= OUTAGE_RETRY_MS) return this.#serveInOutage(entry, now);
    this.#observer.lookedUp('miss');
    return this.#read(hash).catch((error: unknown) => {
      // A notice may have dropped it while we waited: then it must not be served any more.
      if (this.#entries.peek(hash) !== entry) throw error;
      return this.#serveInOutage(entry, this.#monotonicNow());
    });
  }

  #serveInOutage(entry: Entry, now: number): Credential {
    this.#observer.lookedUp('outage');
    if (now - entry.readAt <= OUTAGE_AGE_MAX_MS) return entry.credential;
    throw new Fault('store_unavailable', { message: NOT_CHECKED });
  }

  /** Runs in the background. A failure leaves the entry as it is, and the next request tries again. */
  async #refresh(hash: string, entry: Entry): Promise<void> {
    try {
      await this.#read(hash);
    } catch {
      // Recorded by `#read`; while it lasts, the entry ages towards its bounds.
    } finally {
      entry.refresh = null;
    }
  }

  /** One read per hash at a time: who asks meanwhile waits for the same. */
  #read(hash: string): Promise<Credential | null> {
    const underWay = this.#reads.get(hash);
    // An overtaken read repeats itself, so waiting for it is as good as starting another.
    if (underWay !== undefined) return underWay.promise;
    const read: Read = { overtaken: false, promise: Promise.resolve(null) };
    this.#reads.set(hash, read);
    read.promise = this.#load(hash, read).finally(() => this.#reads.delete(hash));
    return read.promise;
  }

  async #load(hash: string, read: Read): Promise<Credential | null> {
    for (let reads = 1; ; reads += 1) {
      const startedAt = this.#monotonicNow();
      read.overtaken = false;
      let credential: Credential | null;
      try {
        credential = await this.#loader.load(hash);
      } catch (error) {
        this.#failedAt = this.#monotonicNow();
        throw failureOfStore(error, NOT_CHECKED);
      }
      if (read.overtaken && reads < OVERTAKEN_MAX) continue;
      // After too many changes the last answer is given to those who wait, but not kept.
      if (!read.overtaken) this.#keep(hash, credential, startedAt);
      return credential;
    }
  }

  #keep(hash: string, credential: Credential | null, readAt: number): void {
    if (credential === null) {
      this.#entries.delete(hash);
      this.#unknown.set(hash, readAt);
    } else {
      this.#unknown.delete(hash);
      this.#entries.set(hash, { credential, readAt, refresh: null });
    }
  }
}
