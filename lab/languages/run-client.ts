import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import { verifyReceipt } from '#cli/verify/library.ts';
import type { Client } from './clients.ts';
import { makeReady, type Place } from './toolchains.ts';

const run = promisify(execFile);
/** A program asks some twenty questions of a local service; one that takes longer hangs. */
const PROGRAM_MS = 180_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** Of one check: what the program said, after its receipt was verified. */
export interface Found {
  check: string;
  verdict: 'works' | 'fails' | 'not offered';
  words?: string;
}

/** The service that is asked. */
export interface Service {
  baseUrl: string;
  apiKey: string;
  didJson: string;
}

/**
 * Runs a client's program against the service. Where it ends badly, that is a check which fails.
 * @throws NotToBeHad where this machine cannot get the client
 */
export async function runClient(client: Client, service: Service, place: Place): Promise<Found[]> {
  const { file, args, env } = await makeReady(client, place);
  const program = run(file, args, {
    env: {
      ...readEnvironment(),
      DOCKET_BASE_URL: service.baseUrl,
      DOCKET_API_KEY: service.apiKey,
      PYTHONDONTWRITEBYTECODE: '1',
      ...env,
    },
    timeout: PROGRAM_MS,
    maxBuffer: OUTPUT_BYTES_MAX,
    signal: place.signal,
  });
  const ended = await program.catch((error: Error & { stdout?: string; stderr?: string }) => error);
  place.signal.throwIfAborted();
  const lines = ended.stdout?.split('\n').filter((line) => line.startsWith('{"check"')) ?? [];
  const found = await Promise.all(lines.map((line) => judged(JSON.parse(line), service)));
  if (!(ended instanceof Error)) return found;
  const words = ended.stderr?.trim().split('\n').at(-1) || ended.message;
  return [...found, { check: 'its end', verdict: 'fails', words }];
}

/** A check whose receipt is not what the service signed does not work, even if the client thinks it does. */
async function judged(
  { receipt, ...found }: Found & { receipt?: object },
  { didJson }: Service,
): Promise<Found> {
  if (receipt === undefined) {
    const missing = found.verdict === 'works' && found.check.startsWith('receipt');
    return missing ? { ...found, verdict: 'fails', words: 'no receipt' } : found;
  }
  const trust = { didJson, source: 'the service', isChosen: true };
  const { verdict, text } = await verifyReceipt(JSON.stringify(receipt), { trust });
  if (verdict === 'good') return found;
  return { ...found, verdict: 'fails', words: text.split('\n')[0]! };
}
