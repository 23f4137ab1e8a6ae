import type { Readable } from 'node:stream';

/** An object being written. No reader sees it before `commit`. */
export interface ObjectUpload {
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

/** Where objects of one kind are kept, by key: finished packs by an export's id, bodies of receipts by their digest. */
export interface ObjectStore {
  /**
   * Starts an object. What an earlier, dead run left of the same key is thrown away.
   * @param estimatedBytes how large it will be about; decides the size of its parts
   */
  create(key: string, estimatedBytes: number): Promise<ObjectUpload>;
  /**
   * Null when there is none. The stream ends with an error when the connection breaks; it is open, so that the caller
   * reads it to its end or destroys it.
   */
  read(key: string, range: ByteRange): Promise<Readable | null>;
  /** Size in bytes; null when there is none. */
  size(key: string): Promise<number | null>;
  /** Also what unfinished runs left. Deleting what is not there is no error. */
  delete(key: string): Promise<void>;
  /** Rejects when objects could not be kept now. */
  check(): Promise<void>;
}

/** What the objects of a store are: the end of their names, and their type for those who download them. */
export interface ObjectKind {
  suffix: string;
  contentType: string;
}
