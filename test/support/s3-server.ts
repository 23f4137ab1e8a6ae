import { createHash, hash, randomBytes } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { atFileEnd } from './file-end.ts';

/** An object store that speaks the part of S3 that packs need, on a free port. */
export interface TestS3 {
  endpoint: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  objects: Map<string, Buffer>;
  /** Uploads that were begun and neither completed nor aborted. */
  uploads: Map<string, { key: string; parts: Map<number, Buffer> }>;
  /** `METHOD path?query` of every request. */
  requests: string[];
  /** Their headers. */
  headers: (IncomingHttpHeaders & { method: string; part: string })[];
  /** Holds back the answers to uploaded parts until `release`. */
  holdParts(): void;
  release(): void;
  /** Parts whose answers are held back now. */
  held(): number;
  /** The next answers, in place of what would be answered. */
  failNext(status: number, times?: number): void;
  /** While true every answer is 503. */
  away: boolean;
}

export async function startTestS3(bucket = 'packs'): Promise<TestS3> {
  const store = new TestS3Server(bucket);
  const server = createServer((request, response) => {
    store.answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  atFileEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  store.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return store;
}

class TestS3Server implements TestS3 {
  endpoint = '';
  readonly bucket: string;
  readonly accessKeyId = 'AKIATEST';
  readonly secretAccessKey = randomBytes(20).toString('hex');
  readonly objects = new Map<string, Buffer>();
  readonly uploads = new Map<string, { key: string; parts: Map<number, Buffer> }>();
  readonly requests: string[] = [];
  readonly headers: TestS3['headers'] = [];
  away = false;
  #held: (() => void)[] = [];
  #holding = false;
  #failures: number[] = [];

  constructor(bucket: string) {
    this.bucket = bucket;
  }

  holdParts(): void {
    this.#holding = true;
  }

  release(): void {
    this.#holding = false;
    for (const go of this.#held.splice(0)) go();
  }

  held(): number {
    return this.#held.length;
  }

  failNext(status: number, times = 1): void {
    this.#failures.push(...Array.from({ length: times }, () => status));
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, this.endpoint);
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    const part = url.searchParams.get('partNumber') ?? '';
    this.headers.push({ ...request.headers, method: request.method!, part });
    const body = await bodyOf(request);
    const failure = this.away ? 503 : this.#failures.shift();
    if (failure !== undefined) return refuse(response, failure, 'SlowDown');
    const signed = request.headers.authorization?.startsWith(
      `AWS4-HMAC-SHA256 Credential=${this.accessKeyId}/`,
    );
    if (signed !== true) return refuse(response, 403, 'AccessDenied');
    if (request.headers['x-amz-content-sha256'] !== hash('sha256', body)) {
      return refuse(response, 400, 'XAmzContentSHA256Mismatch');
    }
    if (!url.pathname.startsWith(`/${this.bucket}`)) return refuse(response, 404, 'NoSuchBucket');
    const key = decodeURIComponent(url.pathname.slice(this.bucket.length + 2));
    await this.#act(request, response, { key, query: url.searchParams, body });
  }

  async #act(
    request: IncomingMessage,
    response: ServerResponse,
    { key, query, body }: { key: string; query: URLSearchParams; body: Buffer },
  ): Promise<void> {
    const uploadId = query.get('uploadId');
    if (request.method === 'POST' && query.has('uploads')) return this.#begin(response, key);
    if (request.method === 'GET' && query.has('uploads')) return this.#listUploads(response, query);
    if (uploadId !== null && !this.uploads.has(uploadId)) {
      return refuse(response, 404, 'NoSuchUpload');
    }
    if (request.method === 'PUT' && uploadId !== null) {
      if (this.#holding) await new Promise<void>((resolve) => this.#held.push(resolve));
      this.uploads.get(uploadId)?.parts.set(Number(query.get('partNumber')), body);
      const etag = `"${createHash('md5').update(body).digest('hex')}"`;
      response.writeHead(200, { etag }).end();
    } else if (request.method === 'POST' && uploadId !== null) {
      const parts = this.uploads.get(uploadId)!.parts;
      this.objects.set(
        key,
        Buffer.concat([...parts].toSorted(([a], [b]) => a - b).map(([, p]) => p)),
      );
      this.uploads.delete(uploadId);
      response.writeHead(200).end('<CompleteMultipartUploadResult/>');
    } else if (request.method === 'DELETE') {
      if (uploadId === null) this.objects.delete(key);
      else this.uploads.delete(uploadId);
      response.writeHead(204).end();
    } else if (request.method === 'PUT') {
      this.objects.set(key, body);
      response.writeHead(200, { etag: '"one"' }).end();
    } else {
      this.#read(request, response, key);
    }
  }

  #begin(response: ServerResponse, key: string): void {
    const id = randomBytes(12).toString('base64');
    this.uploads.set(id, { key, parts: new Map() });
    response.writeHead(200).end(`<R><Key>${key}</Key><UploadId>${id}</UploadId></R>`);
  }

  #listUploads(response: ServerResponse, query: URLSearchParams): void {
    const prefix = query.get('prefix') ?? '';
    const found = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix));
    const xml = found.map(([id, { key }]) => {
      return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`;
    });
    response
      .writeHead(200)
      .end(`<ListMultipartUploadsResult>${xml.join('\n')}</ListMultipartUploadsResult>`);
  }

  #read(request: IncomingMessage, response: ServerResponse, key: string): void {
    const object = this.objects.get(key);
    if (object === undefined) return refuse(response, 404, 'NoSuchKey');
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const part = start === undefined ? object : object.subarray(Number(start), Number(end) + 1);
    response.writeHead(start === undefined ? 200 : 206, { 'content-length': part.length });
    response.end(request.method === 'HEAD' ? undefined : part);
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<Error><Code>${code}</Code></Error>`);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
