import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateBucketCommand,
  GetObjectLockConfigurationCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  DeleteObjectCommand,
  PutObjectLockConfigurationCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import { createS3Store } from '#shared/packs/http/s3.ts';
import type { Issuer } from './issuer.ts';
import { type Credentials, type Minio, REGION } from './minio.ts';

export interface StoreGround {
  minio: Minio;
  issuer: Issuer;
  directory: string;
}

export const PACKS = 'packs';
export const ARCHIVE = 'archive';
const LOCKED = 'locked';
const MIB = 1_048_576;
/** The shortest session that the store's STS makes. */
const SESSION_S = 900;

/** The product's own store over a bucket. */
function storeOf(
  { minio }: Pick<StoreGround, 'minio'>,
  bucket: string,
  { credentials, kmsKeyId }: { credentials?: Credentials | null; kmsKeyId?: string } = {},
): ObjectStore {
  return createS3Store({
    kind: { suffix: '.bin', contentType: 'application/octet-stream' },
    bucket,
    prefix: 'a/b',
    region: REGION,
    endpoint: minio.endpoint,
    credentials: credentials === null ? undefined : (credentials ?? minio.root),
    kmsKeyId,
  });
}

const clientOf = ({ minio }: Pick<StoreGround, 'minio'>): S3Client =>
  new S3Client({
    region: REGION,
    endpoint: minio.endpoint,
    forcePathStyle: true,
    credentials: minio.root,
  });

/** Buckets as an operator makes them. */
export async function makeBuckets(ground: StoreGround): Promise<void> {
  const client = clientOf(ground);
  for (const Bucket of [PACKS, ARCHIVE]) await client.send(new CreateBucketCommand({ Bucket }));
  await client.send(new CreateBucketCommand({ Bucket: LOCKED, ObjectLockEnabledForBucket: true }));
  const rule = { DefaultRetention: { Mode: 'COMPLIANCE' as const, Days: 1 } };
  const lock = { ObjectLockEnabled: 'Enabled' as const, Rule: rule };
  await client.send(
    new PutObjectLockConfigurationCommand({ Bucket: LOCKED, ObjectLockConfiguration: lock }),
  );
  await client.send(new GetObjectLockConfigurationCommand({ Bucket: LOCKED }));
}

async function put(store: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  const upload = await store.create(key, bytes.length);
  await upload.write(bytes);
  await upload.commit();
}

async function get(store: ObjectStore, key: string): Promise<Buffer | null> {
  const size = await store.size(key);
  if (size === null) return null;
  const stream = await store.read(key, { start: 0, end: size - 1 });
  return stream === null ? null : buffer(stream);
}

/** What an act was refused with, in the product's words. */
async function refusal(act: Promise<unknown>): Promise<string> {
  const error = await act.then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  if (error === undefined) throw new Error('it was not refused');
  return error.message;
}

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const random = (bytes: number): Buffer => {
  const made = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += 65_536) crypto.getRandomValues(made.subarray(at, at + 65_536));
  return made;
};

async function wholeAndParts(ground: StoreGround): Promise<string> {
  const store = storeOf(ground, PACKS);
  for (const size of [1, 5 * MIB, 23 * MIB]) {
    const bytes = random(size);
    await put(store, `size-${size}`, bytes);
    demand((await get(store, `size-${size}`))?.equals(bytes) === true, `${size} bytes differ`);
    await store.delete(`size-${size}`);
    demand((await store.size(`size-${size}`)) === null, 'it is still there');
  }
  await store.delete('never-was');
  demand((await store.read('never-was', { start: 0, end: 1 })) === null, 'there is one');
  return 'of 1 byte, 5 MiB and 23 MiB in parts, read back, deleted';
}

async function wrongSecret(ground: StoreGround): Promise<string> {
  const { root } = ground.minio;
  const wrong = { ...root, secretAccessKey: 'not-the-secret' };
  const unknown = { ...root, accessKeyId: 'nobody-here' };
  const words = [
    await refusal(storeOf(ground, PACKS, { credentials: wrong }).check()),
    await refusal(storeOf(ground, PACKS, { credentials: unknown }).check()),
    await refusal(storeOf(ground, 'no-such-bucket').check()),
    await refusal(
      storeOf(ground, PACKS, { credentials: { ...root, sessionToken: 'x.y.z' } }).check(),
    ),
  ];
  const told = words.join('\n');
  demand(/SignatureDoesNotMatch/.test(told), told);
  demand(!told.includes('not-the-secret') && !told.includes('x.y.z'), 'a secret stands in words');
  return told;
}

async function forbidden(ground: StoreGround): Promise<string> {
  const on = [`arn:aws:s3:::${PACKS}`, `arn:aws:s3:::${PACKS}/*`];
  const reading = { Statement: [{ Effect: 'Allow', Action: ['s3:GetObject'], Resource: on }] };
  const all = { Statement: [{ Effect: 'Allow', Action: ['s3:*'], Resource: on }] };
  const whole = storeOf(ground, PACKS, { credentials: await ground.minio.assumeRole(all) });
  await whole.check();
  await put(whole, 'by-a-role', random(10));
  const reader = storeOf(ground, PACKS, { credentials: await ground.minio.assumeRole(reading) });
  demand((await get(reader, 'by-a-role'))?.length === 10, 'what may be read is not');
  const words = [
    await refusal(put(reader, 'forbidden', random(10))),
    await refusal(reader.delete('by-a-role')),
    await refusal(reader.check()),
    // Another bucket than that of the policy.
    await refusal(
      get(storeOf(ground, ARCHIVE, { credentials: await ground.minio.assumeRole(all) }), 'x'),
    ),
  ];
  demand((await whole.size('forbidden')) === null, 'it was written');
  demand((await whole.size('by-a-role')) === 10, 'it was deleted');
  return words.join('\n');
}

async function locked(ground: StoreGround): Promise<string> {
  const store = storeOf(ground, LOCKED);
  const bytes = random(100);
  await put(store, 'kept', bytes);
  // As archiving does that was killed before it recorded the object: another version of the same bytes.
  await put(store, 'kept', bytes);
  demand((await get(store, 'kept'))?.equals(bytes) === true, 'it is not as it was written');
  const large = random(11 * MIB);
  await put(store, 'kept-in-parts', large);
  demand((await get(store, 'kept-in-parts'))?.equals(large) === true, 'parts differ');
  const client = clientOf(ground);
  const versions = new ListObjectVersionsCommand({ Bucket: LOCKED, Prefix: 'a/b/kept.bin' });
  const { Versions = [] } = await client.send(versions);
  demand(Versions.length === 2, `there are ${Versions.length} versions`);
  for (const { Key, VersionId } of Versions) {
    const deletion = new DeleteObjectCommand({ Bucket: LOCKED, Key, VersionId });
    await refusal(client.send(deletion));
  }
  await store.delete('kept');
  demand((await get(store, 'kept')) === null, 'a deleted one is read');
  const after = await client.send(versions);
  demand(after.Versions?.length === 2, 'a version is gone');
  return 'written twice, in one and in parts; deleting a version is refused, and deleting the object hides it and keeps both';
}

async function encrypted(ground: StoreGround): Promise<string> {
  const { kmsKey: kmsKeyId } = ground.minio;
  const store = storeOf(ground, PACKS, { kmsKeyId });
  const client = clientOf(ground);
  for (const size of [100, 11 * MIB]) {
    const bytes = random(size);
    await put(store, 'encrypted', bytes);
    const head = new HeadObjectCommand({ Bucket: PACKS, Key: 'a/b/encrypted.bin' });
    const { ServerSideEncryption: how, SSEKMSKeyId: by } = await client.send(head);
    demand(how === 'aws:kms' && by?.endsWith(kmsKeyId) === true, `${how} by ${by}`);
    demand((await get(store, 'encrypted'))?.equals(bytes) === true, 'bytes differ');
  }
  return refusal(put(storeOf(ground, PACKS, { kmsKeyId: 'no-such-key' }), 'not', random(10)));
}

async function webIdentity(ground: StoreGround): Promise<string> {
  const { minio, issuer, directory } = ground;
  const file = join(directory, 'token');
  await writeFile(file, issuer.token(SESSION_S));
  const around = {
    AWS_WEB_IDENTITY_TOKEN_FILE: file,
    AWS_ROLE_ARN: minio.roleArn,
    AWS_ENDPOINT_URL_STS: minio.endpoint,
    AWS_REGION: REGION,
  };
  Object.assign(process.env, around);
  try {
    const store = storeOf(ground, PACKS, { credentials: null });
    await store.check();
    await put(store, 'by-web-identity', random(10));
    demand((await store.size('by-web-identity')) === 10, 'it is not there');
    await writeFile(file, issuer.token(-60));
    return `${minio.roleArn}\n${await refusal(storeOf(ground, PACKS, { credentials: null }).check())}`;
  } finally {
    for (const name of Object.keys(around)) delete process.env[name];
  }
}

async function cut(ground: StoreGround): Promise<string> {
  const { minio } = ground;
  const store = storeOf(ground, PACKS);
  const bytes = random(24 * MIB);
  const write = async (key: string, midway: () => Promise<void>): Promise<void> => {
    const upload = await store.create(key, bytes.length);
    try {
      await upload.write(bytes.subarray(0, 12 * MIB));
      await midway();
      await upload.write(bytes.subarray(12 * MIB));
      await upload.commit();
    } catch (error) {
      await upload.abort().catch(() => {});
      throw error;
    }
  };
  await write('paused', async () => {
    minio.pause();
    setTimeout(() => minio.goOn(), 3_000);
  });
  demand((await get(store, 'paused'))?.equals(bytes) === true, 'a paused upload differs');
  const began = performance.now();
  const words = await refusal(write('killed', () => minio.kill()));
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  await minio.again();
  demand((await store.size('killed')) === null, 'half an object is seen');
  await put(store, 'killed', random(1));
  const uploads = new ListMultipartUploadsCommand({ Bucket: PACKS, Prefix: 'a/b/killed.bin' });
  const { Uploads = [] } = await clientOf(ground).send(uploads);
  demand(Uploads.length === 0, `${Uploads.length} uploads are left`);
  return `stopped for 3 s: goes on\nkilled: ${words}, after ${seconds} s; nothing of it is seen, and the next run throws away what is left`;
}

/** Begins the wait for the end of a session; what it returns waits for it. */
export async function expiring(ground: StoreGround): Promise<() => Promise<string>> {
  const all = { Statement: [{ Effect: 'Allow', Action: ['s3:*'], Resource: ['arn:aws:s3:::*'] }] };
  const credentials = await ground.minio.assumeRole(all, SESSION_S);
  const over = Date.now() + (SESSION_S + 5) * 1_000;
  const store = storeOf(ground, PACKS, { credentials });
  await store.check();
  return async () => {
    await delay(Math.max(0, over - Date.now()));
    return refusal(store.check());
  };
}

/** What the store of packs and bodies does at a real server. */
export const STORE_CHECKS: readonly (readonly [
  name: string,
  check: (ground: StoreGround) => Promise<string>,
])[] = [
  ['objects in one and in parts', wholeAndParts],
  ['wrong credentials', wrongSecret],
  ['a policy that forbids', forbidden],
  ['object lock', locked],
  ['encryption by a key of KMS', encrypted],
  ['web identity', webIdentity],
  ['a connection that is cut', cut],
];
