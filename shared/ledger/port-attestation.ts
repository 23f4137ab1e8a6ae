import type { Cosignature } from './cosignatures.ts';
import type { Hash } from './hashing.ts';

/** A checkpoint of the anchor log, as the log itself signed it. */
export interface AttestableCheckpoint {
  size: number;
  /** The signed note. */
  note: string;
  /** What the note signs: what is timestamped and cosigned. */
  text: string;
}

/** What a time-stamping authority answered, checked. */
interface Timestamp {
  /** Epoch milliseconds, by the authority's clock. */
  time: number;
  /** DER of the TimeStampResp. */
  response: Uint8Array;
}

/** An RFC 3161 authority. Rejects with an `Error` for people when it cannot be reached or its answer does not fit. */
export interface TimestampAuthority {
  /** Its address, without credentials. */
  readonly name: string;
  stamp(text: string): Promise<Timestamp>;
}

/** A C2SP tlog-witness. Rejects with an `Error` for people when it cannot be reached, refuses, or answers nonsense. */
export interface WitnessClient {
  readonly name: string;
  /**
   * Asks for a cosignature.
   * @param oldSize what the witness has seen, as far as is known
   * @param prove the consistency proof from a size that it has seen
   */
  cosign(
    checkpoint: AttestableCheckpoint,
    oldSize: number,
    prove: (oldSize: number) => Promise<readonly Hash[]>,
  ): Promise<Cosignature>;
}

/** What is known of attestations, and who asks for the next, over all workers. */
export interface AttestationStore {
  /**
   * Takes the turn to ask a source about the newest anchor checkpoint. Null when it has attested that
   * one, its time has not come, or another worker is asking.
   */
  claim(kind: 'timestamp' | 'cosignature', source: string): Promise<AttestableCheckpoint | null>;
  stamped(size: number, authority: string, timestamp: Timestamp): Promise<void>;
  cosigned(size: number, witness: string, cosignature: Cosignature): Promise<void>;
  /** The next attempt is later after each failure in a row. */
  failed(source: string, reason: string): Promise<void>;
  /** The size of the last checkpoint that the witness cosigned; 0 when there is none. */
  lastCosigned(witness: string): Promise<number>;
  /** From one size of the anchor log to another that was published. */
  consistency(oldSize: number, newSize: number): Promise<Hash[]>;
}
