const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

export interface MessageEvents {
  /** A piece of a body, valid during the call only. */
  onBody?: (piece: Buffer) => void;
  /** A message is whole. */
  onEnd: (firstLine: string) => void;
}

/** What comes next: a head, a body of known length, the size of a chunk, its bytes, or the line after them. */
type Next = 'head' | 'body' | 'chunk size' | 'chunk' | 'chunk end' | 'last line';

/**
 * Finds the ends of HTTP/1.1 messages in what a socket brings, looking at nothing but lengths: what measures must cost
 * less than what is measured.
 */
export class MessageReader {
  readonly #events: MessageEvents;
  #firstLine = '';
  #next: Next = 'head';
  /** Bytes of the body, or of its chunk, still to come. */
  #left = 0;
  /** A line that is not whole yet. */
  #held: Buffer | null = null;

  constructor(events: MessageEvents) {
    this.#events = events;
  }

  /** `bytes` may be reused by the caller afterwards. @throws Error for an answer of which the length is not told */
  read(bytes: Buffer): void {
    let rest = this.#held === null ? bytes : Buffer.concat([this.#held, bytes]);
    this.#held = null;
    while (rest.length > 0) {
      const used = this.#step(rest);
      if (used === 0) {
        this.#held = Buffer.from(rest);
        return;
      }
      rest = rest.subarray(used);
    }
  }

  /** How many bytes belong to what comes next; 0 when it is not there as a whole. */
  #step(rest: Buffer): number {
    if (this.#next === 'body' || this.#next === 'chunk') return this.#readBody(rest);
    const end = rest.indexOf(this.#next === 'head' ? HEAD_END : LINE_END);
    if (end === -1) return 0;
    switch (this.#next) {
      case 'head':
        this.#readHead(rest.toString('latin1', 0, end));
        return end + HEAD_END.length;
      case 'chunk size':
        this.#left = Number.parseInt(rest.toString('latin1', 0, end), 16);
        this.#next = this.#left === 0 ? 'last line' : 'chunk';
        break;
      case 'chunk end':
        this.#next = 'chunk size';
        break;
      case 'last line':
        this.#end();
    }
    return end + LINE_END.length;
  }

  #readBody(rest: Buffer): number {
    const piece = rest.length <= this.#left ? rest : rest.subarray(0, this.#left);
    this.#events.onBody?.(piece);
    this.#left -= piece.length;
    if (this.#left === 0) {
      if (this.#next === 'chunk') this.#next = 'chunk end';
      else this.#end();
    }
    return piece.length;
  }

  #readHead(head: string): void {
    this.#firstLine = head.slice(0, head.indexOf('\r\n'));
    if (/^transfer-encoding: *chunked/im.test(head)) {
      this.#next = 'chunk size';
      return;
    }
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    if (length === undefined && head.startsWith('HTTP/')) {
      throw new Error(`an answer that does not tell its length: ${head}`);
    }
    this.#left = Number(length ?? 0);
    this.#next = 'body';
    if (this.#left === 0) this.#end();
  }

  #end(): void {
    this.#next = 'head';
    this.#events.onEnd(this.#firstLine);
  }
}
