import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { constants, createGzip, type Gzip } from 'node:zlib';
import type { Call, CallBook } from './calls.ts';
import type { SandboxFault } from './faults.ts';
import { Pacer } from './pacer.ts';

/** One answer on its way to a client, spoilt as its fault says. */
export class Reply {
  readonly fault: SandboxFault;
  readonly pacer: Pacer;
  readonly #response: ServerResponse;
  readonly #book: CallBook;
  readonly #call: Call;
  #gzip: Gzip | undefined;

  constructor(parts: {
    response: ServerResponse;
    book: CallBook;
    call: Call;
    fault: SandboxFault;
    tokensPerSecond: number;
  }) {
    this.#response = parts.response;
    this.#book = parts.book;
    this.#call = parts.call;
    this.fault = parts.fault;
    this.pacer = new Pacer(parts.fault.pace ?? parts.tokensPerSecond);
    parts.response.once('close', () => {
      this.pacer.stop();
      this.#book.end(this.#call, parts.response.writableFinished ? 'finished' : 'aborted');
    });
  }

  /** True once the connection is closed, by either side. */
  get gone(): boolean {
    return this.#response.closed || this.#response.destroyed;
  }

  get frames(): number {
    return this.#call.frames;
  }

  countFrame(): void {
    this.#call.frames += 1;
  }

  /** Sends status and headers. */
  open(status: number, headers: Record<string, string | number>): void {
    this.#call.status = status;
    const { joules, 'content-type': type, gzip } = this.fault;
    const all: Record<string, string | number> = { ...headers };
    if (type !== undefined) all['content-type'] = type;
    if (joules !== undefined && this.fault['joules-in'] !== 'usage')
      all['x-energy-joules'] = joules;
    if (gzip === true) {
      delete all['content-length'];
      all['content-encoding'] = 'gzip';
      this.#gzip = createGzip();
    }
    this.#response.writeHead(status, all);
  }

  /** Sends the headers now, not with the first byte of the body. */
  flushHeaders(): void {
    this.#response.flushHeaders();
  }

  /** Writes text; the promise, where there is one, is the wait until more may be written. */
  write(text: string): Promise<void> | undefined {
    if (this.gone) return undefined;
    const { drip } = this.fault;
    if (this.#gzip === undefined && drip === undefined) {
      return this.#response.write(text) ? undefined : this.#drained();
    }
    return this.#writeSlowly(Buffer.from(text), drip);
  }

  /** Ends the answer cleanly. */
  async end(text = ''): Promise<void> {
    if (text !== '') await this.write(text);
    if (this.#gzip !== undefined) {
      const rest = this.#compressed();
      this.#gzip.end();
      await this.#send(await rest, this.fault.drip);
    }
    this.#response.end();
  }

  /** Breaks the answer off on purpose: a reset, a closed connection, or an end that looks clean. */
  async cut(how: 'reset' | 'close' | 'end'): Promise<void> {
    this.#book.end(this.#call, 'faulted');
    if (this.gone) return;
    if (how === 'end') {
      this.#response.end();
      return;
    }
    // The bytes written so far must leave first; the turn lets the socket hand them over.
    await setImmediate();
    const socket = this.#response.socket;
    if (how === 'reset') socket?.resetAndDestroy();
    else socket?.destroySoon();
  }

  /** Says that what follows is a failure on purpose, so that it is not counted as finished. */
  markFaulted(): void {
    this.#book.end(this.#call, 'faulted');
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#response.off('drain', done);
        this.#response.off('close', done);
        resolve();
      };
      this.#response.on('drain', done);
      this.#response.on('close', done);
    });
  }

  async #writeSlowly(bytes: Buffer, drip: number | undefined): Promise<void> {
    if (this.#gzip === undefined) return this.#send(bytes, drip);
    this.#gzip.write(bytes);
    await new Promise<void>((resolve) => this.#gzip?.flush(constants.Z_SYNC_FLUSH, resolve));
    const ready: unknown = this.#gzip.read();
    if (Buffer.isBuffer(ready)) await this.#send(ready, drip);
  }

  async #compressed(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.#gzip ?? []) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  }

  async #send(bytes: Buffer, drip = bytes.length): Promise<void> {
    for (let start = 0; start < bytes.length && !this.gone; start += drip) {
      if (!this.#response.write(bytes.subarray(start, start + drip))) await this.#drained();
      // A turn of its own, so that each piece is a packet of its own.
      if (drip < bytes.length) await setImmediate();
    }
  }
}
