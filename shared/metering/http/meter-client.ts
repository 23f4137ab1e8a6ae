import { PATIENCE } from '#patience';
import type { Meter } from '#shared/catalogue/catalogue.ts';
import { readMeter, type Reading, type ReadingFault } from '../reading.ts';

/** An exporter answers at once; one that does not is read again ten seconds later. */
const TIMEOUT_MS = 5_000 * PATIENCE;
/** A rack's worth of samples; all others of a server come along where its address does not select them. */
const TEXT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Asks a meter what it says now.
 * @param token its bearer token
 * @throws Error when it does not answer, or not with samples; the message never holds the address or the token
 */
export async function askMeter(
  meter: Meter,
  token: string | undefined,
): Promise<Reading | ReadingFault> {
  const response = await fetch(meter.url, {
    headers: {
      accept: 'text/plain;version=0.0.4',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the meter answered ${response.status}`);
  }
  return readMeter(meter, await boundedText(response), Date.now());
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (response.body === null) return '';
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > TEXT_BYTES_MAX) throw new Error('the meter says more than any meter does');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
