import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Transform } from 'node:stream';
import { createParser, type EventSourceParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import type { UpstreamCall, UpstreamSink } from '../provider.ts';
import { failureOfError, failureOfStatus } from './failures.ts';

/** An answer above this is not an answer: embeddings of 2,048 inputs at 3,072 dimensions are about 100 MB as text. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024;
/** A single stream frame: whole images travel in one. */
const FRAME_CHARS_MAX = 32 * 1024 * 1024;
/** Enough of an error body to read its message. */
const ERROR_BYTES_MAX = 64 * 1024;

type Mode = 'waiting' | 'stream' | 'whole' | 'error' | 'over';

/**
 * Reads one HTTP answer of an upstream as its bytes come, and tells the sink. Frames may be cut anywhere, also inside
 * a character; an answer to a streamed request may turn out not to be a stream.
 */
export class UpstreamResponse implements Dispatcher.DispatchHandler, UpstreamCall {
  readonly #sink: UpstreamSink;
  readonly #stream: boolean;
  readonly #energyHeader: string | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #aborted = false;
  #mode: Mode = 'waiting';
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #size = 0;
  #decoder: StringDecoder | undefined;
  #events: EventSourceParser | undefined;
  #inflate: Transform | undefined;
  #done = false;

  constructor(sink: UpstreamSink, stream: boolean, energyHeader: string | undefined) {
    this.#sink = sink;
    this.#stream = stream;
    this.#energyHeader = energyHeader?.toLowerCase();
  }

  abort(): void {
    if (this.#aborted || this.#mode === 'over') return;
    this.#aborted = true;
    this.#mode = 'over';
    this.#controller?.abort(new Error('the caller has gone'));
    this.#sink.onFailure({ kind: 'aborted', detail: 'the caller has gone' });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted) controller.abort(new Error('the caller has gone'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const type = headers['content-type'] ?? '';
    if (status >= 300) this.#mode = 'error';
    else if (this.#stream && !type.startsWith('application/json')) this.#startStream();
    else this.#mode = 'whole';
    this.#inflate = this.#inflater(headers['content-encoding'] ?? '');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#inflate === undefined) this.#read(chunk);
    else this.#inflate.write(chunk);
  }

  onResponseEnd(): void {
    if (this.#inflate === undefined) this.#finish();
    else this.#inflate.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#mode === 'over') return;
    if (this.#mode === 'stream' && this.#done) return this.#endStream();
    this.#mode = 'over';
    this.#sink.onFailure(failureOfError(error));
  }

  /** We ask for identity; some upstreams compress all the same. */
  #inflater(encoding: string): Transform | undefined {
    const name = encoding.trim().toLowerCase();
    if (name === '' || name === 'identity') return undefined;
    const inflate =
      name === 'br'
        ? createBrotliDecompress()
        : name === 'deflate'
          ? createInflate()
          : createGunzip();
    inflate.on('data', (chunk: Buffer) => this.#read(chunk));
    inflate.on('end', () => this.#finish());
    inflate.on('error', (error) =>
      this.#fail('malformed', `undecodable ${name} answer: ${error.message}`),
    );
    return inflate;
  }

  #startStream(): void {
    this.#mode = 'stream';
    this.#decoder = new StringDecoder('utf8');
    this.#events = createParser({
      maxBufferSize: FRAME_CHARS_MAX,
      onEvent: (event) => this.#event(event.data),
      onError: (error) => {
        // Lines that are no field are ignored, as every event stream reader does; a boundless one ends the call.
        if (error.type === 'max-buffer-size-exceeded')
          this.#fail('too_large', 'a stream frame is too large');
      },
    });
  }

  #event(data: string): void {
    if (this.#mode !== 'stream' || this.#done) return;
    if (data === '[DONE]') this.#done = true;
    else if (data !== '') this.#sink.onPayload(data);
  }

  #read(chunk: Buffer): void {
    if (this.#mode === 'stream') {
      this.#events!.feed(this.#decoder!.write(chunk));
      return;
    }
    if (this.#mode !== 'whole' && this.#mode !== 'error') return;
    this.#size += chunk.length;
    if (this.#mode === 'error' && this.#size > ERROR_BYTES_MAX) return;
    if (this.#size > ANSWER_BYTES_MAX) return this.#fail('too_large', 'the answer is too large');
    this.#chunks.push(chunk);
  }

  #finish(): void {
    if (this.#mode === 'stream') return this.#endStream();
    if (this.#mode !== 'whole' && this.#mode !== 'error') return;
    const text = (
      this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    ).toString();
    const mode = this.#mode;
    this.#mode = 'over';
    if (mode === 'error') this.#sink.onFailure(failureOfStatus(this.#status, this.#headers, text));
    else this.#sink.onAnswer(text, this.#joules());
  }

  #endStream(): void {
    // A frame that the connection's end cut off is not a frame: the parser is not told to flush it.
    this.#mode = 'over';
    this.#sink.onEnd(this.#done, this.#joules());
  }

  #fail(kind: 'malformed' | 'too_large', detail: string): void {
    if (this.#mode === 'over') return;
    this.#mode = 'over';
    this.#controller?.abort(new Error(detail));
    this.#sink.onFailure({ kind, detail });
  }

  #joules(): number | undefined {
    if (this.#energyHeader === undefined) return undefined;
    const value = Number(this.#headers[this.#energyHeader]);
    return Number.isFinite(value) && value >= 0 ? value : undefined;
  }
}
