import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { examineExportStore } from '#cli/doctor/machine.ts';
import { openExportStore } from '#shared/packs/files/open-store.ts';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import { startTestS3 } from '#test/support/s3-server.ts';

const directory = mkdtempSync(join(tmpdir(), 'docket-packs-'));
afterAll(() => rmSync(directory, { recursive: true }));
const s3 = await startTestS3();
const bucket = {
  exportStore: 's3://packs/a/b',
  awsRegion: 'eu-west-1',
  s3Endpoint: s3.endpoint,
  s3KmsKeyId: undefined,
  secrets: {
    awsAccessKeyId: s3.accessKeyId,
    awsSecretAccessKey: s3.secretAccessKey,
    awsSessionToken: undefined,
  },
};

const STORES: Record<string, ObjectStore> = {
  'a directory': openExportStore({ ...bucket, exportStore: join(directory, 'packs') }),
  'an S3 bucket': openExportStore(bucket),
};

async function bytesOf(
  store: ObjectStore,
  key: string,
  start: number,
  end: number,
): Promise<Buffer> {
  const stream = await store.read(key, { start, end });
  if (stream === null) throw new Error('there is no such pack');
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function put(store: ObjectStore, key: string, content: Buffer): Promise<void> {
  const upload = await store.create(key, content.length);
  for (let at = 0; at < content.length; at += 3_000_001) {
    await upload.write(content.subarray(at, at + 3_000_001));
  }
  await upload.commit();
}

describe.each(Object.entries(STORES))('%s', (_name, store) => {
  it('a store of packs gives back what was put, whole and in parts, small and large', async () => {
    // Several parts of 5 MiB, and one byte more.
    for (const size of [1, 1_000, 2 * 5 * 1_048_576, 12 * 1_048_576 + 1]) {
      const content = randomBytes(size);
      await put(store, `exp_${size}`, content);
      expect(await store.size(`exp_${size}`)).toBe(size);
      expect((await bytesOf(store, `exp_${size}`, 0, size - 1)).equals(content)).toBe(true);
      const [start, end] = [Math.floor(size / 3), Math.floor(size / 2)];
      const part = await bytesOf(store, `exp_${size}`, start, end);
      expect(part.equals(content.subarray(start, end + 1))).toBe(true);
    }
  });

  it('a store shows nothing of a pack before it is committed', async () => {
    const upload = await store.create('exp_open', 50_000_000);
    await upload.write(randomBytes(7_000_000));
    expect(await store.size('exp_open')).toBeNull();
    expect(await store.read('exp_open', { start: 0, end: 9 })).toBeNull();
    await upload.abort();
    expect(await store.size('exp_open')).toBeNull();
  });

  it('a store throws away what a dead run has left when the pack is begun again, or deleted', async () => {
    for (const finish of ['create', 'delete'] as const) {
      const dead = await store.create('exp_dead', 50_000_000);
      await dead.write(randomBytes(7_000_000));
      if (finish === 'create') await put(store, 'exp_dead', Buffer.from('whole'));
      else await store.delete('exp_dead');
      expect(s3.uploads.size).toBe(0);
      const files = readdirSync(join(directory, 'packs'));
      expect(files.filter((name) => name.includes('partial'))).toEqual([]);
      // What a process leaves open ends with it; this one goes on.
      await dead.abort();
    }
  });

  it('a store deletes packs; deleting what is not there is no error', async () => {
    await put(store, 'exp_gone', Buffer.from('x'));
    await store.delete('exp_gone');
    await store.delete('exp_gone');
    expect(await store.size('exp_gone')).toBeNull();
  });

  it('a store says that it can keep packs', async () => {
    await expect(store.check()).resolves.toBeUndefined();
  });
});

describe('an S3 bucket', () => {
  const store = STORES['an S3 bucket']!;

  it('an S3 bucket keeps packs under its prefix', async () => {
    await put(store, 'exp_prefixed', Buffer.from('x'));
    expect([...s3.objects.keys()]).toContain('a/b/exp_prefixed.zip');
  });

  it('an S3 service that is busy is asked again', async () => {
    s3.failNext(503, 2);
    await put(store, 'exp_busy', Buffer.from('x'));
    expect(await store.size('exp_busy')).toBe(1);
  });

  it('packs are written with the key of KMS that is set, and with the token of temporary credentials', async () => {
    const secrets = { ...bucket.secrets, awsSessionToken: 'token' };
    const encrypting = openExportStore({ ...bucket, s3KmsKeyId: 'alias/packs', secrets });
    s3.headers.length = 0;
    await put(encrypting, 'exp_small', Buffer.from('x'));
    await put(encrypting, 'exp_large', randomBytes(6 * 1_048_576));
    const written = s3.headers.filter(({ method, part }) => method !== 'GET' && part === '');
    const keys = written.map((of) => of['x-amz-server-side-encryption-aws-kms-key-id']);
    expect(keys).toEqual(['alias/packs', 'alias/packs', undefined]);
    expect(new Set(s3.headers.map((of) => of['x-amz-security-token']))).toEqual(new Set(['token']));
  });

  it('an S3 service that refuses is not asked again', async () => {
    const stranger = openExportStore({
      ...bucket,
      secrets: { ...bucket.secrets, awsAccessKeyId: 'AKIASOMEBODY' },
    });
    const before = s3.requests.length;
    await expect(stranger.create('exp_x', 1)).rejects.toMatchObject({
      status: 403,
      code: 'AccessDenied',
    });
    expect(s3.requests.length).toBe(before + 1);
  });

  it('a bucket that is not there is no store without packs', async () => {
    const elsewhere = openExportStore({ ...bucket, exportStore: 's3://other/a/b' });
    await expect(elsewhere.read('exp_x', { start: 0, end: 9 })).rejects.toMatchObject({
      code: 'NoSuchBucket',
    });
  });

  it('doctor says why an S3 bucket takes no packs, and that it does', async () => {
    expect(await examineExportStore(bucket)).toMatchObject({ verdict: 'ok' });
    const secrets = { ...bucket.secrets, awsAccessKeyId: 'AKIASOMEBODY' };
    expect(await examineExportStore({ ...bucket, secrets })).toMatchObject({
      verdict: 'problem',
      detail: 's3://packs/a/b: the object store answered 403: AccessDenied (ListMultipartUploads)',
    });
  });

  it('an S3 bucket with half of its credentials is refused, and so is another kind of address', () => {
    const half = { ...bucket.secrets, awsSecretAccessKey: undefined };
    expect(() => openExportStore({ ...bucket, secrets: half })).toThrow(/AWS_ACCESS_KEY_ID/);
    expect(() => openExportStore({ ...bucket, exportStore: 's3:packs' })).toThrow(/s3:\/\//);
  });
});

describe('a directory', () => {
  it('a directory of packs takes no key that leads out of it', async () => {
    const store = STORES['a directory']!;
    writeFileSync(join(directory, 'secret.zip'), 'x');
    await expect(store.size('../secret')).rejects.toThrow(RangeError);
  });
});
