import type { Readable } from 'node:stream';
import type { CompletedPart, MultipartUpload, S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { PART_BYTES_DIVISOR } from '#patience';
import type { ObjectKind, ObjectStore, ObjectUpload } from '#shared/kernel/object-store.ts';

export interface S3StoreOptions {
  kind: ObjectKind;
  bucket: string;
  /** Within the bucket, without slashes at its ends; empty for none. */
  prefix: string;
  region: string;
  /** A service other than AWS. */
  endpoint?: string | undefined;
  /** Without them the SDK looks where it does: web identity, the role of the container or of the machine, its own files. */
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | undefined;
  /** The key of KMS by which objects are encrypted; without it the bucket decides. */
  kmsKeyId?: string | undefined;
}

/** The service refuses, or no credentials are found. `code` is the service's own: `NoSuchUpload`, `AccessDenied`. */
class S3Refusal extends Error {
  /** Absent where the service was not reached. */
  readonly status: number | undefined;
  readonly code: string;

  constructor(operation: string, code: string, status: number | undefined) {
    const answered = status === undefined ? 'cannot be asked' : `answered ${status}`;
    super(`the object store ${answered}: ${code} (${operation})`);
    this.name = 'S3Refusal';
    this.status = status;
    this.code = code;
  }
}

/** Over some five seconds: S3 asks clients to repeat what it answers with 500 or 503. */
const TRIES = 5;
const CONNECT_MS = 5_000;
const SILENCE_MS = 30_000;
/** S3 takes at most 10,000 parts; a pack may come out larger than was estimated. */
const PARTS_AIMED_AT = 6_000;
/** S3 takes no smaller ones but the last. Two of them are in memory, and a pack is made more slowly than they are sent. */
const PART_BYTES_MIN = (5 * 1_048_576) / PART_BYTES_DIVISOR;

type Sdk = typeof import('@aws-sdk/client-s3');

/** The bucket, and calls to it. */
interface Bucket {
  sdk: Sdk;
  client: S3Client;
  /** What stands in each call that writes an object. */
  written: { ServerSideEncryption?: 'aws:kms'; SSEKMSKeyId?: string; ContentType: string };
  name: string;
}

/** Objects in an S3-compatible bucket. One is uploaded in parts and appears when the upload is completed. */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  let opened: Promise<Bucket> | undefined;
  // A process that keeps packs in a directory never loads it.
  const open = (): Promise<Bucket> => (opened ??= openBucket(options));
  const keyOf = (key: string): string =>
    [options.prefix, key + options.kind.suffix].filter(Boolean).join('/');
  return {
    async create(key, estimatedBytes) {
      const bucket = await open();
      await abortUploads(bucket, keyOf(key));
      const partBytes = Math.max(PART_BYTES_MIN, Math.ceil(estimatedBytes / PARTS_AIMED_AT));
      return new Upload(bucket, keyOf(key), partBytes);
    },
    async read(key, { start, end }) {
      const { sdk, client, name } = await open();
      const range = { Bucket: name, Key: keyOf(key), Range: `bytes=${start}-${end}` };
      const found = await unlessMissing(
        told('GetObject', client.send(new sdk.GetObjectCommand(range))),
      );
      return (found?.Body as Readable | undefined) ?? null;
    },
    async size(key) {
      const { sdk, client, name } = await open();
      const head = new sdk.HeadObjectCommand({ Bucket: name, Key: keyOf(key) });
      const found = await unlessMissing(told('HeadObject', client.send(head)));
      return found?.ContentLength ?? null;
    },
    async delete(key) {
      const bucket = await open();
      await abortUploads(bucket, keyOf(key));
      const { sdk, client, name } = bucket;
      const deletion = new sdk.DeleteObjectCommand({ Bucket: name, Key: keyOf(key) });
      await told('DeleteObject', client.send(deletion));
    },
    async check() {
      // What writing a pack begins with; and unlike an answer to HEAD, this one says why it refuses.
      await uploadsOf(await open(), keyOf('probe'));
    },
  };
}

async function openBucket(options: S3StoreOptions): Promise<Bucket> {
  const { kind, bucket: name, region, endpoint, credentials, kmsKeyId } = options;
  const sdk = await import('@aws-sdk/client-s3');
  const config: S3ClientConfig = {
    region,
    // AWS wants the bucket in the host's name; other services, and buckets with dots (for TLS), in the path.
    forcePathStyle: endpoint !== undefined || name.includes('.'),
    maxAttempts: TRIES,
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
  };
  if (endpoint !== undefined) config.endpoint = endpoint;
  if (credentials !== undefined) config.credentials = credentials;
  return {
    sdk,
    client: new sdk.S3Client(config),
    written: {
      ContentType: kind.contentType,
      ...(kmsKeyId === undefined
        ? {}
        : { ServerSideEncryption: 'aws:kms' as const, SSEKMSKeyId: kmsKeyId }),
    },
    name,
  };
}

/**
 * What an operation comes to.
 * @throws S3Refusal in place of the SDK's own error, which holds the whole exchange
 */
async function told<T>(operation: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const { name, code, message, $metadata } = error as Error & {
      code?: string;
      $metadata?: { httpStatusCode?: number };
    };
    const status = $metadata?.httpStatusCode;
    throw new S3Refusal(operation, status === undefined ? (code ?? message) : name, status);
  }
}

/** Null for what is not there, or ends before the range that was asked for. Of a bucket that is not there, nothing is known. */
async function unlessMissing<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    const isMissing =
      error instanceof S3Refusal &&
      (error.status === 404 || error.status === 416) &&
      error.code !== 'NoSuchBucket';
    if (isMissing) return null;
    throw error;
  }
}

/** Gathers bytes into parts. One part is on its way while the next one fills. */
class Upload implements ObjectUpload {
  readonly #bucket: Bucket;
  readonly #place: { Bucket: string; Key: string };
  readonly #partBytes: number;
  #part: Buffer;
  #filled = 0;
  #uploadId: string | undefined;
  readonly #parts: CompletedPart[] = [];
  #underWay: Promise<void> = Promise.resolve();

  constructor(bucket: Bucket, key: string, partBytes: number) {
    this.#bucket = bucket;
    this.#place = { Bucket: bucket.name, Key: key };
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
    const { sdk, client, written } = this.#bucket;
    if (this.#uploadId === undefined) {
      const Body = this.#part.subarray(0, this.#filled);
      const whole = new sdk.PutObjectCommand({ ...this.#place, ...written, Body });
      await told('PutObject', client.send(whole));
      return;
    }
    if (this.#filled > 0) await this.#flush();
    await this.#underWay;
    const completion = new sdk.CompleteMultipartUploadCommand({
      ...this.#place,
      UploadId: this.#uploadId,
      MultipartUpload: { Parts: this.#parts },
    });
    await told('CompleteMultipartUpload', client.send(completion));
  }

  async abort(): Promise<void> {
    await this.#underWay.catch(() => {});
    if (this.#uploadId === undefined) return;
    await abortUpload(this.#bucket, { ...this.#place, UploadId: this.#uploadId });
  }

  async #flush(): Promise<void> {
    await this.#underWay;
    this.#uploadId ??= await this.#begin();
    const body = this.#part.subarray(0, this.#filled);
    this.#underWay = this.#upload(this.#parts.length, body);
    // Its failure is seen by the next one who waits for it.
    this.#underWay.catch(() => {});
    this.#part = Buffer.allocUnsafeSlow(this.#partBytes);
    this.#filled = 0;
  }

  async #begin(): Promise<string> {
    const { sdk, client, written } = this.#bucket;
    const beginning = new sdk.CreateMultipartUploadCommand({ ...this.#place, ...written });
    const { UploadId: id } = await told('CreateMultipartUpload', client.send(beginning));
    if (id === undefined) throw new S3Refusal('CreateMultipartUpload', 'no UploadId', 200);
    return id;
  }

  async #upload(index: number, Body: Uint8Array): Promise<void> {
    const { sdk, client } = this.#bucket;
    const PartNumber = index + 1;
    const part = { ...this.#place, UploadId: this.#uploadId!, PartNumber, Body };
    const answer = await told('UploadPart', client.send(new sdk.UploadPartCommand(part)));
    const { ETag, ChecksumCRC32 } = answer;
    if (ETag === undefined) throw new S3Refusal('UploadPart', 'no ETag', 200);
    this.#parts[index] = { PartNumber, ETag, ChecksumCRC32 };
  }
}

/** What dead runs began and never finished costs storage until it is aborted. */
async function abortUploads(bucket: Bucket, key: string): Promise<void> {
  for (const { Key, UploadId } of await uploadsOf(bucket, key)) {
    if (Key !== key || UploadId === undefined) continue;
    await abortUpload(bucket, { Bucket: bucket.name, Key, UploadId });
  }
}

async function uploadsOf({ sdk, client, name }: Bucket, key: string): Promise<MultipartUpload[]> {
  const list = new sdk.ListMultipartUploadsCommand({ Bucket: name, Prefix: key });
  const { Uploads: uploads = [] } = await told('ListMultipartUploads', client.send(list));
  return uploads;
}

/** One that was completed or aborted already is no error. */
async function abortUpload(
  { sdk, client }: Bucket,
  upload: { Bucket: string; Key: string; UploadId: string },
): Promise<void> {
  const abortion = new sdk.AbortMultipartUploadCommand(upload);
  await unlessMissing(told('AbortMultipartUpload', client.send(abortion)));
}
