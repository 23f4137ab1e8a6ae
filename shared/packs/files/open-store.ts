import type { ToolConfig } from '#shared/config/config.ts';
import type { ExportStore } from '../export-store.ts';
import { createS3Store } from '../http/s3.ts';
import { createDirectoryStore } from './directory.ts';

/** The settings that say where packs are kept. */
export type ExportStoreConfig = Pick<ToolConfig, 'exportStore' | 'awsRegion' | 's3Endpoint'> & {
  readonly secrets: Pick<ToolConfig['secrets'], 'awsAccessKeyId' | 'awsSecretAccessKey'>;
};

/**
 * The store that `EXPORT_STORE` names: a directory, or `s3://bucket/prefix`.
 * @throws Error when an S3 bucket is named without credentials
 */
export function openExportStore(config: ExportStoreConfig): ExportStore {
  const { exportStore: location, awsRegion: region, s3Endpoint: endpoint, secrets } = config;
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/.exec(location);
  if (match === null) {
    if (location.startsWith('s3:')) throw new Error('EXPORT_STORE must be s3://bucket/prefix');
    return createDirectoryStore(location);
  }
  const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey } = secrets;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new Error('an S3 bucket needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  return createS3Store({
    bucket: match[1]!,
    prefix: match[2] ?? '',
    region,
    credentials: { accessKeyId, secretAccessKey },
    ...(endpoint === undefined ? {} : { endpoint }),
  });
}
