import { setTimeout as delay } from 'node:timers/promises';
import { dropMembers, memberText } from '#shared/kernel/json-text.ts';
import type { Random } from '#lab/support/random.ts';

/** A client that hears nothing for this long gives up; the product's own bounds are far below it. */
const CLIENT_MS = 90_000;
const RETRIES_MAX = 40;
/** What a client waits before a retry, at most, also when it was told more: a storm is short. */
const RETRY_MS_MAX = 1_000;
const TOKENS = [4, 12, 30];

/** One HTTP request as its client saw it. */
export interface Attempt {
  body: string;
  stream: boolean;
  idempotencyKey: string | null;
  startedAt: number;
  endedAt: number;
  /** 0 when no answer came. */
  status: number;
  receiptId: string | null;
  /** `whole`: to its last byte. `error`: an envelope, or a stream that ended with one. `broken`: neither. */
  ending: 'whole' | 'error' | 'broken';
  /** The answer without its receipt: its JSON, or the payloads of its events. */
  payloads: string[];
  /** The receipt's text in the answer. */
  receipt: string | null;
  /** The code of the error, or why the connection broke. */
  reason: string | null;
}

export interface Target {
  baseUrl: string;
  apiKey: string;
}

interface LoadOptions {
  /** Stands in its questions and keys: those of another load on the same instance are others. */
  name: string;
  random: Random;
  /** That send at the same time. */
  clients: number;
}

/** Sends plain, streamed and idempotent requests, the latter with retries, until it is told to stop. */
export class Load {
  readonly attempts: Attempt[] = [];
  readonly #target: Target;
  readonly #name: string;
  readonly #random: Random;
  readonly #senders: Promise<void>[];
  #stopped = false;
  #calls = 0;

  constructor(target: Target, { name, random, clients }: LoadOptions) {
    this.#target = target;
    this.#name = name;
    this.#random = random;
    this.#senders = Array.from({ length: clients }, () => this.#send());
  }

  get calls(): number {
    return this.#calls;
  }

  /** Sends nothing new; resolves when everything has been answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#senders);
  }

  async #send(): Promise<void> {
    while (!this.#stopped) {
      const number = this.#calls;
      this.#calls += 1;
      const stream = number % 2 === 1;
      const body = JSON.stringify({
        model: 'llama-3.1-8b',
        messages: [
          {
            role: 'user',
            content: `What does lighthouse ${number} do in a storm of the kind ${this.#name}?`,
          },
        ],
        max_tokens: this.#random.of(TOKENS),
        ignore_eos: true,
        stream,
        sandbox_fault: `pace=${Math.round(this.#random.between(20, 60))}`,
      });
      const idempotencyKey = number % 4 < 2 ? null : `${this.#name}-${number}`;
      for (let retry = 0; retry < RETRIES_MAX; retry += 1) {
        const { attempt, retryMs } = await sendOne(this.#target, { body, stream, idempotencyKey });
        this.attempts.push(attempt);
        if (attempt.ending === 'whole' || idempotencyKey === null) break;
        await delay(Math.min(retryMs, RETRY_MS_MAX));
      }
      // A client whose request failed at once does not send thousands of others in its place.
      if (this.attempts.at(-1)!.ending !== 'whole') await delay(100);
    }
  }
}

/** Sends one request and reads what comes back, however it ends. */
export async function sendOne(
  { baseUrl, apiKey }: Target,
  { body, stream, idempotencyKey }: Pick<Attempt, 'body' | 'stream' | 'idempotencyKey'>,
): Promise<{ attempt: Attempt; retryMs: number }> {
  const attempt: Attempt = {
    body,
    stream,
    idempotencyKey,
    startedAt: Date.now(),
    endedAt: 0,
    status: 0,
    receiptId: null,
    ending: 'broken',
    payloads: [],
    receipt: null,
    reason: null,
  };
  let text = '';
  let retryMs = 200;
  try {
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body,
      signal: AbortSignal.timeout(CLIENT_MS),
    });
    attempt.status = response.status;
    attempt.receiptId = response.headers.get('x-receipt-id');
    retryMs = Number(response.headers.get('retry-after-ms') ?? retryMs);
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) text += decoder.decode(chunk, { stream: true });
  } catch (error) {
    const cause = (error as Error).cause ?? error;
    attempt.reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
  }
  attempt.endedAt = Date.now();
  if (attempt.status === 200 && stream) readStream(attempt, text);
  else readWhole(attempt, text);
  return { attempt, retryMs };
}

function readWhole(attempt: Attempt, text: string): void {
  if (attempt.status === 200) {
    if (attempt.reason !== null) return;
    attempt.ending = 'whole';
    takePayload(attempt, text);
    return;
  }
  if (attempt.status === 0) return;
  attempt.reason = codeOf(text);
  if (attempt.reason !== null) attempt.ending = 'error';
  else attempt.reason = `${attempt.status} ${text.slice(0, 80)}`;
}

function readStream(attempt: Attempt, text: string): void {
  for (const frame of text.split('\n\n').slice(0, -1)) {
    if (!frame.startsWith('data: ')) continue;
    const payload = frame.slice(6).replaceAll('\ndata: ', '\n');
    const code = payload.startsWith('{"error"') ? codeOf(payload) : null;
    if (payload === '[DONE]') attempt.ending = 'whole';
    else if (code !== null) [attempt.ending, attempt.reason] = ['error', code];
    else takePayload(attempt, payload);
  }
}

function takePayload(attempt: Attempt, payload: string): void {
  attempt.receipt ??= memberText(payload, 'receipt') ?? null;
  attempt.payloads.push(dropMembers(payload, ['receipt']));
}

/** The code of an error envelope that has all of its members; null when the text is none. */
function codeOf(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error: Record<string, unknown> };
    const whole = ['code', 'type', 'message'].every((name) => typeof error[name] === 'string');
    return whole && 'param' in error ? String(error['code']) : null;
  } catch {
    return null;
  }
}
