import type { Credential } from './credential.ts';

/** Where credentials come from when they are not in memory. */
export interface CredentialSource {
  /** The credentials of these key hashes (hex), absent where no such key exists. Throws when the store cannot answer. */
  findByHashes(hashes: readonly string[]): Promise<ReadonlyMap<string, Credential>>;
}

/** A notice that something changed. It does not say to what. */
export type CredentialChange =
  | { kind: 'key'; hash: string; at: number }
  | { kind: 'organisation'; orgId: string; at: number }
  /** Notices may have been lost: the feed was cut and is back. */
  | { kind: 'unknown' };

export interface CredentialFeed {
  close(): Promise<void>;
}

/** What the credential cache tells about itself; one implementation writes the metrics. */
export interface CredentialObserver {
  /** A change reached this process, this many milliseconds after it was made. */
  changeArrived: (delayMs: number) => void;
  lookedUp: (outcome: 'hit' | 'refreshing' | 'miss' | 'unknown' | 'outage') => void;
  feedLost: (error: unknown) => void;
  feedRestored: () => void;
}

/** Where the time of a key's last use is written, in batches. */
export interface KeyUseStore {
  /** Key id → epoch milliseconds of its last use. Earlier times than the stored one change nothing. */
  recordUses(uses: ReadonlyMap<string, number>): Promise<void>;
}
