import type { Readable } from 'node:stream';

/** A pack being written. No reader sees it before `commit`. */
export interface PackUpload {
  /** Takes the next bytes; the caller may use the buffer again when it resolves. */
  write(bytes: Uint8Array): Promise<void>;
  /** Gives it its name, durably and at once: a reader finds all of it or nothing. */
  commit(): Promise<void>;
  /** Throws away what was written. */
  abort(): Promise<void>;
}

/** Bytes `start` to `end` (included). */
export interface ByteRange {
  start: number;
  end: number;
}

/** Where finished packs are kept, by key (an export's id). */
export interface ExportStore {
  /**
   * Starts a pack. What an earlier, dead run left of the same key is thrown away.
   * @param estimatedBytes how large it will be about; decides the size of its parts
   */
  create(key: string, estimatedBytes: number): Promise<PackUpload>;
  /**
   * Null when there is none. The stream ends with an error when the connection breaks; it is open, so that the caller
   * reads it to its end or destroys it.
   */
  read(key: string, range: ByteRange): Promise<Readable | null>;
  /** Size in bytes; null when there is none. */
  size(key: string): Promise<number | null>;
  /** Also what unfinished runs left. Deleting what is not there is no error. */
  delete(key: string): Promise<void>;
  /** Rejects when packs could not be kept now. */
  check(): Promise<void>;
}
