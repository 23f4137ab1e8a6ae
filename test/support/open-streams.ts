import { expect } from 'vitest';
import { chatBody, payloadsIn } from './calls.ts';
import { post } from './http.ts';
import type { Product } from './system.ts';
import { until } from './until.ts';

/** So many streams at once. */
export const STREAMS = 30;
/** From one token of theirs to the next. */
export const PACE_MS = 40;

/** One stream as its client sees it while it comes. */
export interface OpenStream {
  receiptId: string;
  text: () => string;
  /** Resolves with everything, once the connection has ended. */
  ended: Promise<string>;
}

/** Opens streams of so many tokens each; returns once some of each has come. */
export async function openStreams(product: Product, tokens: number): Promise<OpenStream[]> {
  const body = chatBody({ max_tokens: tokens, stream: true, sandbox_fault: `pace=${PACE_MS}` });
  const open = async (): Promise<OpenStream> => {
    const response = await post(product, '/chat/completions', JSON.stringify(body));
    expect(response.status).toBe(200);
    let text = '';
    const read = async (): Promise<string> => {
      const decoder = new TextDecoder();
      for await (const bytes of response.body!) text += decoder.decode(bytes, { stream: true });
      return text;
    };
    const receiptId = response.headers.get('x-receipt-id')!;
    return { receiptId, text: () => text, ended: read() };
  };
  const streams = await Promise.all(Array.from({ length: STREAMS }, open));
  await until(() => streams.every(({ text }) => payloadsIn(text()).length > 3), 'all stream');
  return streams;
}
