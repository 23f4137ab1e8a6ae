import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Transform } from 'node:stream';
import { createParser, type EventSourceParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import { LONG, nextTurn } from '#shared/kernel/turns.ts';
import type { AnswerHold } from '../../answer-room.ts';
import type { Pace } from '../../stream-pace.ts';
import { MESSAGE_END } from '../../messages/native.ts';
import { ENDINGS } from '../../responses/native.ts';
import type { UpstreamCall, UpstreamSink } from '../provider.ts';
import { ownFault, type UpstreamFailure } from '../upstream-failure.ts';
import { failureOfError, failureOfErrorEvent, failureOfStatus } from './failures.ts';

/** Embeddings above this are none: those of 2,048 inputs at 3,072 dimensions are about 100 MB as text. */
const EMBEDDINGS_BYTES_MAX = 128 * 1024 * 1024;
/** Any other answer: images, or twenty thousand tokens with the log probabilities of twenty others for each. Redis has all of it. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** A single stream frame: whole images travel in one. */
const FRAME_CHARS_MAX = 32 * 1024 * 1024;
/** Enough of an error body to read its message. */
const ERROR_BYTES_MAX = 64 * 1024;
/** So much white space comes before no answer. */
const WHITE_BYTES_MAX = 64 * 1024;
/** What has come of a stream is read in slices of so many bytes, between which others may have their turn. */
const SLICE_BYTES = 4_096;
/** So long a server may take to end its answer after `[DONE]`; its connection is closed then. */
const LINGER_MS = 1_000;

export interface ResponseOptions {
  stream: boolean;
  hasEmbeddings?: boolean;
  energyHeader: string | undefined;
  /** From the call to the first byte of the answer's body, and to its last, in milliseconds. */
  firstByteMs: number;
  totalMs: number;
  /** Is asked before a whole answer is read on. */
  hold?: AnswerHold | undefined;
  /** Is asked before a stream is read on. */
  pace?: Pace | undefined;
}

const WHITE_SPACE: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20]);
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const NOTHING = Buffer.alloc(0);

type Mode = 'waiting' | 'unknown' | 'stream' | 'whole' | 'error' | 'over';

/**
 * Reads one HTTP answer of an upstream as its bytes come, and tells the sink. Frames may be cut anywhere, also inside
 * a character; an answer to a streamed request may turn out not to be a stream.
 */
export class UpstreamResponse implements Dispatcher.DispatchHandler, UpstreamCall {
  readonly #sink: UpstreamSink;
  readonly #options: ResponseOptions;
  #controller: Dispatcher.DispatchController | undefined;
  #aborted = false;
  #mode: Mode = 'waiting';
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #size = 0;
  /** What has come of a stream and waits for its turn, and its end, where that has come behind it. */
  /** Of what came before the answer. */
  #whiteBytes = 0;
  #unread: Buffer = NOTHING;
  #then: (() => void) | undefined;
  #decoder: StringDecoder | undefined;
  #events: EventSourceParser | undefined;
  #inflate: Transform | undefined;
  #timer: NodeJS.Timeout;
  #begunAt = performance.now();
  #pausedAt: number | undefined;
  #speaks = false;

  constructor(sink: UpstreamSink, options: ResponseOptions) {
    this.#sink = sink;
    this.#options = options;
    const firstByteMs = Math.min(options.firstByteMs, options.totalMs);
    this.#timer = setTimeout(
      () => this.#timedOut(`no first byte in ${firstByteMs} ms`),
      firstByteMs,
    );
  }

  abort(): void {
    if (this.#aborted || this.#mode === 'over') return;
    this.#aborted = true;
    this.#end();
    this.#hangUp('the caller has gone');
    this.#sink.onFailure({ kind: 'aborted', detail: 'the caller has gone' });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The call may have ended before it had a connection.
    if (this.#mode === 'over') controller.abort(new Error('the call is over'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const type = (headers['content-type'] ?? '').trimStart().toLowerCase();
    if (status >= 300) this.#mode = 'error';
    else if (type.startsWith('text/html'))
      return this.#fail({
        kind: 'malformed',
        detail: 'a web page answers; does base_url end in /v1?',
      });
    else this.#mode = this.#options.stream ? 'unknown' : 'whole';
    this.#inflate = this.#inflater(headers['content-encoding'] ?? '');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#speaks) this.#startSpeaking();
    if (this.#inflate === undefined) this.#guarded(() => this.#read(chunk));
    else this.#inflate.write(chunk);
  }

  onResponseEnd(): void {
    if (this.#mode === 'over') clearTimeout(this.#timer);
    if (this.#inflate === undefined) this.#guarded(() => this.#onceRead(() => this.#finish()));
    else this.#inflate.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#mode === 'over') return clearTimeout(this.#timer);
    this.#onceRead(() => {
      this.#end();
      this.#sink.onFailure(failureOfError(error));
    });
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
    inflate.on('data', (chunk: Buffer) => this.#guarded(() => this.#read(chunk)));
    inflate.on('end', () => this.#guarded(() => this.#onceRead(() => this.#finish())));
    const detail = 'its compressed answer cannot be read';
    inflate.on('error', () =>
      this.#guarded(() => this.#onceRead(() => this.#fail({ kind: 'malformed', detail }))),
    );
    return inflate;
  }

  #startStream(): void {
    this.#mode = 'stream';
    this.#decoder = new StringDecoder('utf8');
    this.#events = createParser({
      maxBufferSize: FRAME_CHARS_MAX,
      onEvent: ({ data, event }) => this.#event(data, event),
      onError: ({ type, field, value }) => {
        if (type === 'max-buffer-size-exceeded')
          this.#fail({ kind: 'too_large', detail: 'a stream frame is too large' });
        // Other lines that are no field are ignored, as every event stream reader does.
        else if (type === 'unknown-field' && field === 'error')
          this.#fail(failureOfErrorEvent(value ?? ''));
      },
    });
  }

  #event(data: string, event: string | undefined): void {
    if (this.#mode !== 'stream') return;
    this.#options.pace?.event();
    if (data.startsWith('[DONE]') && data.trim() === '[DONE]') this.#endAtWord();
    else if (event === 'error') this.#fail(failureOfErrorEvent(data));
    else if (data !== '') {
      this.#sink.onPayload(data);
      // A response or a message ends with an event of its own, and without [DONE].
      if (ENDINGS.has(event) || event === MESSAGE_END) this.#endAtWord();
    }
  }

  #read(chunk: Buffer): void {
    if (this.#mode === 'unknown') this.#judge(chunk);
    if (this.#mode === 'stream') {
      const isFirst = this.#unread.length === 0;
      this.#unread = isFirst ? chunk : Buffer.concat([this.#unread, chunk]);
      if (this.#pausedAt === undefined) this.#readOn();
      return;
    }
    if (this.#mode !== 'whole' && this.#mode !== 'error') return;
    this.#size += chunk.length;
    if (this.#mode === 'error' && this.#size > ERROR_BYTES_MAX) {
      // An error that says nothing in so many bytes says nothing; and it may have no end.
      this.#finish();
      return this.#hangUp('the error is too long');
    }
    const { hasEmbeddings = false } = this.#options;
    if (this.#size > (hasEmbeddings ? EMBEDDINGS_BYTES_MAX : ANSWER_BYTES_MAX))
      return this.#fail({ kind: 'too_large', detail: 'the answer is too large' });
    this.#chunks.push(chunk);
    const { hold } = this.#options;
    if (this.#mode === 'whole' && hold?.take(chunk.length) === false)
      this.#pauseUntil((resume) => hold.whenRoom(resume));
  }

  /** Reads what has come of a stream, until it is ahead or there is no more. */
  #readOn(): void {
    const { pace } = this.#options;
    while (this.#unread.length > 0) {
      const come = this.#unread;
      const isLast = come.length <= SLICE_BYTES;
      const slice = isLast ? come : come.subarray(0, SLICE_BYTES);
      this.#unread = isLast ? NOTHING : come.subarray(SLICE_BYTES);
      pace?.read(slice.length);
      this.#events!.feed(this.#decoder!.write(slice));
      if (this.#mode !== 'stream') return;
      if (pace?.isAhead === true) return this.#pauseUntil((resume) => pace.whenCaughtUp(resume));
    }
    this.#resume();
  }

  /** The first byte that is no white space tells JSON from a stream: some servers say one and send the other. */
  #judge(chunk: Buffer): void {
    const first = chunk.find((byte) => !WHITE_SPACE.has(byte));
    this.#whiteBytes += first === undefined ? chunk.length : 0;
    if (this.#whiteBytes > WHITE_BYTES_MAX)
      return this.#fail({ kind: 'malformed', detail: 'the answer begins with white space alone' });
    if (first === OPEN_BRACE || first === OPEN_BRACKET) this.#mode = 'whole';
    else if (first !== undefined) this.#startStream();
  }

  /** Reads no further until it is called back. The upstream is not to blame for that time. */
  #pauseUntil(wait: (resume: () => void) => void): void {
    if (this.#mode === 'over') return;
    if (this.#pausedAt === undefined) {
      this.#pausedAt = performance.now();
      clearTimeout(this.#timer);
      this.#controller?.pause();
      // What has come already may unpack to a thousand times its size.
      this.#inflate?.pause();
    }
    wait(() => {
      if (this.#mode !== 'over') this.#guarded(() => this.#readOn());
    });
  }

  /**
   * Has what is thrown fail the call at once, as a fault of our own. In a turn of the connection it would be taken for one of
   * the connection; in a later turn it would end the process, and with it every other answer.
   */
  #guarded(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.#fail(ownFault(error));
    }
  }

  /** Ends behind what has come and waits for its turn. */
  #onceRead(end: () => void): void {
    if (this.#unread.length > 0) this.#then = end;
    else end();
  }

  /** Everything that has come is read. */
  #resume(): void {
    if (this.#then !== undefined) return this.#then();
    if (this.#pausedAt === undefined) return;
    this.#begunAt += performance.now() - this.#pausedAt;
    this.#timeTheWhole();
    this.#flow();
  }

  #flow(): void {
    if (this.#pausedAt === undefined) return;
    this.#pausedAt = undefined;
    this.#inflate?.resume();
    this.#controller?.resume();
  }

  #finish(): void {
    // A frame that the connection's end cut off is not a frame: the parser is not told to flush it.
    if (this.#mode === 'stream' || this.#mode === 'unknown') return this.#endStream(false);
    if (this.#mode !== 'whole' && this.#mode !== 'error') return;
    // The call outlives its answer, and the text is all that is needed.
    const chunks = this.#chunks;
    this.#chunks = [];
    const mode = this.#mode;
    this.#end();
    if (mode === 'error')
      this.#sink.onFailure(failureOfStatus(this.#status, this.#headers, textOf(chunks)));
    else if (this.#size <= LONG) this.#sink.onAnswer(textOf(chunks), this.#joules());
    else
      void textInTurns(chunks)
        .then((text) => this.#sink.onAnswer(text, this.#joules()))
        .catch((error: unknown) => this.#sink.onFailure(ownFault(error)));
  }

  #endStream(clean: boolean): void {
    this.#end();
    this.#sink.onEnd(clean, this.#joules());
  }

  /** `[DONE]` is the end, though the connection may stay open: it is left to the next request, but not for long. */
  #endAtWord(): void {
    this.#endStream(true);
    if (this.#then !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#controller?.abort(new Error('the answer is over and its connection stays open'));
    }, LINGER_MS);
    this.#timer.unref();
    this.#flow();
  }

  /** The first byte of the body has come: from now on only silence and the whole are timed. */
  #startSpeaking(): void {
    this.#speaks = true;
    if (this.#mode === 'over') return;
    clearTimeout(this.#timer);
    this.#timeTheWhole();
  }

  #timeTheWhole(): void {
    const { totalMs } = this.#options;
    const restMs = Math.max(0, totalMs - (performance.now() - this.#begunAt));
    this.#timer = setTimeout(() => this.#timedOut(`not finished in ${totalMs} ms`), restMs);
  }

  #timedOut(detail: string): void {
    this.#fail({ kind: 'timeout', detail });
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#mode === 'over') return;
    this.#end();
    this.#hangUp(failure.detail);
    this.#sink.onFailure(failure);
  }

  /** Closes the connection; what it has sent already is not unpacked any more. */
  #hangUp(why: string): void {
    this.#controller?.abort(new Error(why));
    this.#inflate?.destroy();
  }

  /** Nothing is told to the sink any more. */
  #end(): void {
    this.#mode = 'over';
    this.#unread = NOTHING;
    clearTimeout(this.#timer);
  }

  #joules(): number | undefined {
    const { energyHeader } = this.#options;
    if (energyHeader === undefined) return undefined;
    const value = Number(this.#headers[energyHeader.toLowerCase()]);
    return Number.isFinite(value) && value >= 0 ? value : undefined;
  }
}

function textOf(chunks: readonly Buffer[]): string {
  return (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString();
}

/** The same of many megabytes, without another copy of them. */
async function textInTurns(chunks: readonly Buffer[]): Promise<string> {
  const decoder = new StringDecoder('utf8');
  let text = '';
  let left = LONG;
  for (const chunk of chunks) {
    text += decoder.write(chunk);
    left -= chunk.length;
    if (left > 0) continue;
    await nextTurn();
    left = LONG;
  }
  return text + decoder.end();
}
