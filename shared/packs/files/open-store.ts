import type { ExportStore } from '../export-store.ts';
import { createDirectoryStore } from './directory.ts';
import { createS3Store, type S3Credentials } from '../http/s3.ts';

export interface ExportStoreOptions {
  /** A directory, or `s3://bucket/prefix`. */
  location: string;
  region: string;
  /** An S3 service other than AWS. */
  endpoint?: string | undefined;
  credentials?: S3Credentials | undefined;
}

/** The store that `EXPORT_STORE` names. @throws Error when an S3 bucket is named without credentials */
export function openExportStore(options: ExportStoreOptions): ExportStore {
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/.exec(options.location);
  if (match === null) {
    if (options.location.startsWith('s3:'))
      throw new Error('EXPORT_STORE must be s3://bucket/prefix');
    return createDirectoryStore(options.location);
  }
  const { credentials, region, endpoint } = options;
  if (credentials === undefined) throw new Error('an S3 bucket needs AWS_ACCESS_KEY_ID');
  return createS3Store({
    bucket: match[1]!,
    prefix: match[2] ?? '',
    region,
    credentials,
    ...(endpoint === undefined ? {} : { endpoint }),
  });
}
