import { PART_BYTES_DIVISOR } from '#patience';
import type { ExportStore, PackUpload } from '../export-store.ts';
import {
  createS3Client,
  element,
  type S3Answer,
  type S3Bucket,
  S3Refusal,
  type S3Request,
  textOf,
} from './s3-client.ts';

export interface S3StoreOptions extends S3Bucket {
  /** Within the bucket, without slashes at its ends; empty for none. */
  prefix: string;
}

/** S3 takes at most 10,000 parts; a pack may come out larger than was estimated. */
const PARTS_AIMED_AT = 6_000;
/** S3 takes no smaller ones but the last. Two of them are in memory, and a pack is made more slowly than they are sent. */
const PART_BYTES_MIN = (5 * 1_048_576) / PART_BYTES_DIVISOR;

type Send = (wanted: S3Request) => Promise<S3Answer>;

/** Packs in an S3-compatible bucket. A pack is uploaded in parts and appears when the upload is completed. */
export function createS3Store(options: S3StoreOptions): ExportStore {
  const send = createS3Client(options);
  const keyOf = (key: string): string => [options.prefix, `${key}.zip`].filter(Boolean).join('/');
  return {
    async create(key, estimatedBytes) {
      await abortUploads(send, keyOf(key));
      const partBytes = Math.max(PART_BYTES_MIN, Math.ceil(estimatedBytes / PARTS_AIMED_AT));
      return new Upload(send, keyOf(key), partBytes);
    },
    async read(key, { start, end }) {
      const headers = { range: `bytes=${start}-${end}` };
      const answer = await send({ method: 'GET', key: keyOf(key), headers });
      if (answer.status !== 404) return answer.body;
      await textOf(answer.body);
      return null;
    },
    async size(key) {
      const { status, headers, body } = await send({ method: 'HEAD', key: keyOf(key) });
      await textOf(body);
      return status === 404 ? null : Number(headers['content-length']);
    },
    async delete(key) {
      await abortUploads(send, keyOf(key));
      await finish(send({ method: 'DELETE', key: keyOf(key) }));
    },
    async check() {
      // Whether the object is there does not matter, nor whether we may know.
      await finish(send({ method: 'HEAD', key: keyOf('probe') })).catch((error: unknown) => {
        if (!(error instanceof S3Refusal && error.status === 403)) throw error;
      });
    },
  };
}

/** Gathers bytes into parts. One part is on its way while the next one fills. */
class Upload implements PackUpload {
  readonly #send: Send;
  readonly #key: string;
  readonly #partBytes: number;
  #part: Buffer;
  #filled = 0;
  #uploadId: string | undefined;
  readonly #etags: string[] = [];
  #underWay: Promise<void> = Promise.resolve();

  constructor(send: Send, key: string, partBytes: number) {
    this.#send = send;
    this.#key = key;
    this.#partBytes = partBytes;
    this.#part = Buffer.allocUnsafeSlow(partBytes);
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + this.#partBytes - this.#filled);
      this.#part.set(piece, this.#filled);
      this.#filled += piece.length;
      at += piece.length;
      if (this.#filled === this.#partBytes) await this.#flush();
    }
  }

  async commit(): Promise<void> {
    if (this.#uploadId === undefined) {
      const body = this.#part.subarray(0, this.#filled);
      await finish(this.#send({ method: 'PUT', key: this.#key, headers: TYPE, body }));
      return;
    }
    if (this.#filled > 0) await this.#flush();
    await this.#underWay;
    const parts = this.#etags.map((etag, i) => {
      return `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`;
    });
    const answer = await this.#send({
      method: 'POST',
      key: this.#key,
      query: { uploadId: this.#uploadId },
      headers: { 'content-type': 'application/xml' },
      body: Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`),
    });
    const text = await textOf(answer.body);
    // S3 may begin with 200 and find out later that it cannot.
    if (answer.status !== 200 || text.includes('<Error>')) {
      throw new S3Refusal(answer.status, element(text, 'Code') ?? 'unknown', 'completion');
    }
  }

  async abort(): Promise<void> {
    await this.#underWay.catch(() => {});
    if (this.#uploadId === undefined) return;
    const query = { uploadId: this.#uploadId };
    await finish(this.#send({ method: 'DELETE', key: this.#key, query }));
  }

  async #flush(): Promise<void> {
    await this.#underWay;
    this.#uploadId ??= await this.#begin();
    const body = this.#part.subarray(0, this.#filled);
    this.#underWay = this.#upload(this.#etags.length, body);
    // Its failure is seen by the next one who waits for it.
    this.#underWay.catch(() => {});
    this.#part = Buffer.allocUnsafeSlow(this.#partBytes);
    this.#filled = 0;
  }

  async #begin(): Promise<string> {
    const answer = await this.#send({
      method: 'POST',
      key: this.#key,
      query: { uploads: '' },
      headers: TYPE,
    });
    const id = element(await textOf(answer.body), 'UploadId');
    if (id === undefined)
      throw new S3Refusal(answer.status, 'no UploadId', 'the start of an upload');
    return id;
  }

  async #upload(index: number, body: Uint8Array): Promise<void> {
    const query = { partNumber: String(index + 1), uploadId: this.#uploadId! };
    const answer = await this.#send({ method: 'PUT', key: this.#key, query, body });
    await textOf(answer.body);
    const { etag } = answer.headers;
    if (answer.status !== 200 || typeof etag !== 'string') {
      throw new S3Refusal(answer.status, 'no ETag', 'a part');
    }
    this.#etags[index] = etag;
  }
}

const TYPE = { 'content-type': 'application/zip' };

/** What dead runs began and never finished costs storage until it is aborted. */
async function abortUploads(send: Send, key: string): Promise<void> {
  const answer = await send({ method: 'GET', key: '', query: { uploads: '', prefix: key } });
  const list = await textOf(answer.body);
  for (const [, upload = ''] of list.matchAll(/<Upload>(.*?)<\/Upload>/gs)) {
    const uploadId = element(upload, 'UploadId');
    if (element(upload, 'Key') !== key || uploadId === undefined) continue;
    await finish(send({ method: 'DELETE', key, query: { uploadId } }));
  }
}

/** Waits for the answer and reads it to its end, so that the connection is free again. */
async function finish(answer: Promise<S3Answer>): Promise<void> {
  await textOf((await answer).body);
}
