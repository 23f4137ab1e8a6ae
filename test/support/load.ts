import type { Product } from './system.ts';

/** One request as its client saw it. */
export interface Seen {
  /** Whole answer, or a stream up to `[DONE]`. */
  answered: boolean;
  status: number;
  receiptId: string | null;
  /** The answer carried a signed receipt. */
  signed: boolean;
  /** The answer announced its receipt, which was not there yet. */
  pending: boolean;
}

export interface LoadOptions {
  requests: number;
  concurrency: number;
  /** Called after each finished request with how many there are. */
  onProgress?: (finished: number) => void;
}

const BODY = {
  model: 'llama-3.1-8b',
  messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
  max_tokens: 8,
};

/** Sends requests over all api processes, every other one as a stream, and says what became of each. */
export async function sendLoad(system: Product, options: LoadOptions): Promise<Seen[]> {
  const seen: Seen[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < options.requests; i = next++) {
      const url = system.baseUrls[i % system.baseUrls.length]!;
      seen.push(await sendOne(url, system.key, i % 2 === 0));
      options.onProgress?.(seen.length);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, worker));
  return seen;
}

async function sendOne(baseUrl: string, key: string, stream: boolean): Promise<Seen> {
  try {
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...BODY, stream }),
    });
    const text = await response.text();
    const whole = stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}');
    return {
      answered: response.status === 200 && whole,
      status: response.status,
      receiptId: response.headers.get('x-receipt-id'),
      signed: text.includes('"proofValue"'),
      pending: text.includes('"type":["PendingReceipt"],"tier":"pending"'),
    };
  } catch {
    // The connection broke: the process at its other end was killed.
    return { answered: false, status: 0, receiptId: null, signed: false, pending: false };
  }
}
