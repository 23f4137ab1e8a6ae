const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * Finds the ends of HTTP/1.1 messages in what a socket brings, looking at nothing but `content-length`: what measures
 * must cost less than what is measured. `onMessage` gets the first line of each message once it is whole.
 */
export class MessageReader {
  readonly #onMessage: (firstLine: string) => void;
  #firstLine = '';
  /** Bytes of the body still to come; -1 before the head is whole. */
  #bodyLeft = -1;
  #head: Buffer | null = null;

  constructor(onMessage: (firstLine: string) => void) {
    this.#onMessage = onMessage;
  }

  /** `bytes` may be reused by the caller afterwards. @throws Error when a message has no content-length */
  read(bytes: Buffer): void {
    let rest = bytes;
    for (;;) {
      if (this.#bodyLeft === -1) {
        if (this.#head !== null) rest = Buffer.concat([this.#head, rest]);
        const end = rest.indexOf(HEAD_END);
        if (end === -1) {
          this.#head = rest.length === 0 ? null : Buffer.from(rest);
          return;
        }
        this.#head = null;
        this.#readHead(rest.toString('latin1', 0, end));
        rest = rest.subarray(end + HEAD_END.length);
      }
      if (rest.length < this.#bodyLeft) {
        this.#bodyLeft -= rest.length;
        return;
      }
      rest = rest.subarray(this.#bodyLeft);
      this.#bodyLeft = -1;
      this.#onMessage(this.#firstLine);
      if (rest.length === 0) return;
    }
  }

  #readHead(head: string): void {
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    if (length === undefined) throw new Error(`a message without content-length: ${head}`);
    this.#bodyLeft = Number(length);
    this.#firstLine = head.slice(0, head.indexOf('\r\n'));
  }
}
