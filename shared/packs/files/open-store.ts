import type { ToolConfig } from '#shared/config/config.ts';
import type { ExportStore } from '../export-store.ts';
import { createS3Store, type S3StoreOptions } from '../http/s3.ts';
import { createDirectoryStore } from './directory.ts';

/** The settings that say where packs are kept. */
export type ExportStoreConfig = Pick<
  ToolConfig,
  'exportStore' | 'awsRegion' | 's3Endpoint' | 's3KmsKeyId'
> & {
  readonly secrets: Pick<
    ToolConfig['secrets'],
    'awsAccessKeyId' | 'awsSecretAccessKey' | 'awsSessionToken'
  >;
};

/**
 * The store that `EXPORT_STORE` names: a directory, or `s3://bucket/prefix`.
 * @throws Error for another address, or half of the credentials
 */
export function openExportStore(config: ExportStoreConfig): ExportStore {
  const { exportStore: location, awsRegion: region, s3Endpoint: endpoint, secrets } = config;
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/.exec(location);
  if (match === null) {
    if (location.startsWith('s3:')) throw new Error('EXPORT_STORE must be s3://bucket/prefix');
    return createDirectoryStore(location);
  }
  return createS3Store({
    bucket: match[1]!,
    prefix: match[2] ?? '',
    region,
    endpoint,
    credentials: credentialsOf(secrets),
    kmsKeyId: config.s3KmsKeyId,
  });
}

/** Undefined where none are set: then they come from where the process runs. */
function credentialsOf({
  awsAccessKeyId: accessKeyId,
  awsSecretAccessKey: secretAccessKey,
  awsSessionToken: sessionToken,
}: ExportStoreConfig['secrets']): S3StoreOptions['credentials'] {
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new Error('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set together, or neither is');
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}
