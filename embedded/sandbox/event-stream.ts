import type { SandboxFault } from './faults.ts';
import type { Reply } from './reply.ts';

const LINE_ENDS = { lf: '\n', cr: '\r', crlf: '\r\n' };

/** The error object of an upstream that fails after it has answered 200. */
export const UPSTREAM_FAILURE = {
  error: {
    message: 'The model failed while it was answering.',
    type: 'server_error',
    param: null,
    code: 'model_failed',
  },
};

/** Faults that change the bytes or the course of an event stream; without them frames take the short way. */
const FRAME_FAULTS = [
  'stall-mid',
  'cut-after',
  'error-first',
  'error-after',
  'malformed-after',
  'ping',
  'eol',
  'multiline',
  'huge-frame',
] as const satisfies readonly (keyof SandboxFault)[];

/** Server-sent events with OpenAI's framing. */
export class EventStream {
  readonly #reply: Reply;
  readonly #plain: boolean;
  #over = false;

  constructor(reply: Reply) {
    this.#reply = reply;
    this.#plain = FRAME_FAULTS.every((name) => reply.fault[name] === undefined);
    reply.open(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    reply.flushHeaders();
  }

  /** True when nothing more can be said. */
  get over(): boolean {
    return this.#over || this.#reply.gone;
  }

  /** Sends one `data:` frame, with its name where it has one. The promise, where there is one, is the wait until the next may be sent. */
  frame(json: string, name?: string): Promise<void> | undefined {
    if (this.over) return undefined;
    if (!this.#plain) return this.#spoilt(json, name);
    this.#reply.countFrame();
    const event = name === undefined ? '' : `event: ${name}\n`;
    return this.#reply.write(`${event}data: ${json}\n\n`);
  }

  /** Ends the stream as OpenAI does, with `[DONE]` but for responses. */
  async done(mark: '[DONE]' | '' = '[DONE]'): Promise<void> {
    const { fault } = this.#reply;
    if (this.over) return;
    if (fault['cut-after'] !== undefined && this.#reply.frames >= fault['cut-after']) {
      await this.#cut();
      return;
    }
    await this.#reply.end(fault['no-done'] === true || mark === '' ? '' : this.#framed(mark));
    this.#over = true;
  }

  async #spoilt(json: string, name?: string): Promise<void> {
    const { fault } = this.#reply;
    const sent = this.#reply.frames;
    if (fault['stall-mid'] !== undefined && sent === (fault['stall-after'] ?? 1)) {
      await this.#reply.pacer.sleep(fault['stall-mid']);
      if (this.over) return;
    }
    if (fault['cut-after'] !== undefined && sent >= fault['cut-after']) return this.#cut();
    if (sent === (fault['error-first'] === true ? 0 : fault['error-after'])) {
      this.#over = true;
      this.#reply.markFaulted();
      return this.#reply.end(this.#framed(JSON.stringify(UPSTREAM_FAILURE)));
    }
    this.#reply.countFrame();
    const broken = sent === fault['malformed-after'];
    await this.#reply.write(
      this.#framed(broken ? json.slice(0, json.length >> 1) : this.#padded(json, sent), name),
    );
  }

  /** The second frame carries a field of the size that was asked for. */
  #padded(json: string, sent: number): string {
    const size = this.#reply.fault['huge-frame'];
    if (size === undefined || sent !== 1) return json;
    return `${json.slice(0, -1)},"sandbox_padding":"${'x'.repeat(size)}"}`;
  }

  #framed(payload: string, name?: string): string {
    const { ping, eol = 'lf', multiline } = this.#reply.fault;
    const end = LINE_ENDS[eol];
    let lines = [payload];
    if (multiline === true && payload.startsWith('{')) {
      try {
        lines = JSON.stringify(JSON.parse(payload), null, 1).split('\n');
      } catch {
        // A frame that is broken on purpose stays on its line.
      }
    }
    const comment = ping === true ? `: ping${end}${end}` : '';
    const event = name === undefined ? '' : `event: ${name}${end}`;
    return `${comment}${event}${lines.map((line) => `data: ${line}${end}`).join('')}${end}`;
  }

  async #cut(): Promise<void> {
    this.#over = true;
    await this.#reply.cut(this.#reply.fault.cut ?? 'close');
  }
}
