import type { AnchorProof } from './anchor-proof.ts';
import type { PlacedKeyEvent } from './key-events.ts';
import type { TileRequest } from './tiles.ts';

/** Which of an organisation's anchored checkpoints, and which checkpoint of the anchor log it leads to. */
export interface AnchorChoice {
  /** The newest anchored checkpoint with at most so many entries; the newest of all when absent. */
  headSizeMax?: number;
  /** Only what was anchored below this index of the anchor log: for keys that are good up to there. */
  before?: number;
  /** Lead to the anchor checkpoint of exactly this size, so that a proof can be made again as it was. */
  anchorSize?: number;
  /** Lead to the newest anchor checkpoint that has a timestamp or a cosignature. */
  attested?: boolean;
}

/** A key event as it is handed out: with its exact text and the proof that the anchor log holds it. */
export interface ProvenKeyEvent extends PlacedKeyEvent {
  /** The exact text of the entry. */
  entry: string;
  /** C2SP tlog-proof; null while no checkpoint covers it. */
  proof: string | null;
}

/** What is read of the anchor log. Apart from `proof`, it is for everyone. */
export interface AnchorReader {
  /** One organisation's own proof; null when nothing of it is anchored as chosen. */
  proof(orgId: string, choice?: AnchorChoice): Promise<AnchorProof | null>;
  /** Everything that happened to signing keys, in the order of the log; up to a checkpoint of this size, if it is named. */
  keyEvents(choice?: Pick<AnchorChoice, 'anchorSize'>): Promise<ProvenKeyEvent[]>;
  /** The newest checkpoint, with what witnesses have said; null before the first. */
  checkpoint(): Promise<string | null>;
  /** Bytes of a tile or an entry bundle; null when the newest checkpoint does not cover it. */
  tile(tile: TileRequest): Promise<Uint8Array | null>;
}
