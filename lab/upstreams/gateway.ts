import { setTimeout as delay } from 'node:timers/promises';
import { Instance } from '#lab/storms/instance.ts';
import type { Case } from './cases.ts';

/** What a client got of one request, and what was signed about it. */
export interface Reply {
  status: number;
  receiptId: string;
  /** Of a whole answer, or of an error. */
  body: Json;
  /** Payloads of a stream, without `[DONE]`. */
  payloads: Json[];
  /** A stream: whether it ended with `[DONE]`. */
  done: boolean;
  /** Its receipt's subject, if it came with one. */
  receipt: Subject | undefined;
}

export type Json = Record<string, unknown>;

/** What a receipt says of a request. */
export interface Subject {
  outcome: string;
  usageSource: string;
  inputTokens?: number;
  outputTokens?: number;
  attempts: number;
}

/** A receipt is committed before it can be asked for; what is left of a broken request settles within this time. */
const RECEIPT_MS = 20_000;
const LOOK_MS = 100;

/** The product as `npm start` runs it, before model servers. */
export class Gateway {
  readonly #instance: Instance;

  /** @param credentials by the variables that the catalogue names */
  static async start(catalogue: string, credentials: Record<string, string>): Promise<Gateway> {
    const env = { CATALOGUE: catalogue, REPLICAS: 'api=1', LOG_LEVEL: 'info', ...credentials };
    return new Gateway(await Instance.start({ env }));
  }

  private constructor(instance: Instance) {
    this.#instance = instance;
  }

  /** Everything that its processes have logged. */
  get log(): string {
    return this.#instance.output;
  }

  stop(): Promise<void> {
    return this.#instance.remove();
  }

  /** One request to its end. `onBytes` hears of each piece of the answer, and may leave through `signal`. */
  async ask(
    { path, body }: Case,
    { signal, onBytes }: { signal?: AbortSignal; onBytes?: (all: string) => void } = {},
  ): Promise<Reply> {
    const { base_url: base, api_key: key } = this.#instance.info;
    const response = await fetch(base.replace(/\/v1$/, '') + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    const reply: Reply = {
      status: response.status,
      receiptId: response.headers.get('x-receipt-id') ?? '',
      body: {},
      payloads: [],
      done: false,
      receipt: undefined,
    };
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const piece of response.body ?? []) {
        text += decoder.decode(piece as Uint8Array, { stream: true });
        onBytes?.(text);
      }
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
    if (!text.startsWith('data: ')) {
      reply.body = JSON.parse(text) as Json;
      reply.receipt = subjectIn(reply.body);
      return reply;
    }
    for (const frame of text.split('\n\n')) {
      const data = frame.replaceAll(/^data: /gm, '');
      if (data === '[DONE]') reply.done = true;
      else if (frame.startsWith('data: ') && data.endsWith('}'))
        reply.payloads.push(JSON.parse(data) as Json);
    }
    reply.receipt = reply.payloads.map(subjectIn).find((one) => one !== undefined);
    return reply;
  }

  /** The receipt of a request that was left or broken off, once it is there. */
  async receipt(id: string): Promise<Subject> {
    const { base_url: base, api_key: key } = this.#instance.info;
    const headers = { authorization: `Bearer ${key}` };
    const end = Date.now() + RECEIPT_MS;
    for (;;) {
      const response = await fetch(`${base}/receipts/${id}`, { headers });
      const receipt = (await response.json()) as { credentialSubject?: Subject };
      if (response.ok && receipt.credentialSubject !== undefined) return receipt.credentialSubject;
      if (Date.now() > end) throw new Error(`there is no receipt ${id}: HTTP ${response.status}`);
      await delay(LOOK_MS);
    }
  }
}

function subjectIn(payload: Json): Subject | undefined {
  return (payload['receipt'] as { credentialSubject?: Subject } | undefined)?.credentialSubject;
}
