import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import pRetry, { AbortError } from 'p-retry';
import { request } from 'undici';
import { type S3Credentials, signedHeaders } from './s3-signature.ts';

export interface S3Bucket {
  bucket: string;
  region: string;
  credentials: S3Credentials;
  /** A service other than AWS. */
  endpoint?: string;
  /** Epoch milliseconds. */
  now?: () => number;
}

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Without a leading slash; empty for the bucket itself. */
  key: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array;
}

export interface S3Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Readable;
}

/** The service refuses. `code` is its own: `NoSuchUpload`, `AccessDenied`. */
export class S3Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, operation: string) {
    super(`the object store answered ${status} ${code} to ${operation}`);
    this.name = 'S3Refusal';
    this.status = status;
    this.code = code;
  }
}

/** Five tries over some five seconds: S3 asks clients to repeat what it answers with 500 or 503. */
const RETRIES = 4;
const FIRST_WAIT_MS = 250;
const SILENCE_MS = 30_000;
/** Answers to what is not a download are short. */
const TEXT_MAX = 1_048_576;

/** One signed request. Repeats what may help; a status of 400 or above is a refusal, 404 aside. */
export function createS3Client(options: S3Bucket): (wanted: S3Request) => Promise<S3Answer> {
  const { region, credentials, now = Date.now } = options;
  const send = async (wanted: S3Request): Promise<S3Answer> => {
    const url = urlOf(options, wanted);
    const { method, headers = {}, body } = wanted;
    const signed = signedHeaders(
      { method, url, headers, region, now: now(), bodySha256: hash('sha256', body ?? '') },
      credentials,
    );
    const answer = await request(url, {
      method,
      headers: signed,
      body: body ?? null,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
    });
    const status = answer.statusCode;
    if (status >= 400 && status !== 404) {
      const text = await textOf(answer.body);
      const refusal = new S3Refusal(status, element(text, 'Code') ?? 'unknown', method);
      throw status >= 500 || status === 429 ? refusal : new AbortError(refusal);
    }
    return { status, headers: answer.headers, body: answer.body };
  };
  return (wanted) =>
    pRetry(() => send(wanted), { retries: RETRIES, minTimeout: FIRST_WAIT_MS, randomize: true });
}

/** AWS wants the bucket in the host's name; other services, and buckets with dots (for TLS), in the path. */
function urlOf({ bucket, region, endpoint }: S3Bucket, { key, query = {} }: S3Request): URL {
  const path = key.split('/').map(encodeURIComponent).join('/');
  const hosted = endpoint === undefined && !bucket.includes('.');
  const base = endpoint?.replace(/\/+$/, '') ?? `https://s3.${region}.amazonaws.com`;
  const url = hosted
    ? new URL(`https://${bucket}.s3.${region}.amazonaws.com/${path}`)
    : new URL(`${base}/${bucket}/${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** An answer's body as text; more than a megabyte is not an answer of S3's. */
export async function textOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > TEXT_MAX) throw new Error('the object store answers more than it should');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The text of the first XML element of this name. */
export function element(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.replaceAll(
    /&(amp|lt|gt|quot|apos);/g,
    (_, entity: string) => ENTITIES[entity] ?? '',
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};
