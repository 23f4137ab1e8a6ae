import type { ToolConfig } from '#shared/config/config.ts';
import type { ObjectKind, ObjectStore } from '#shared/kernel/object-store.ts';
import { ARCHIVED_BODIES } from '#shared/ledger/body-archive.ts';
import { createS3Store, type S3StoreOptions } from '../http/s3.ts';
import { createDirectoryStore, PACK } from './directory.ts';

/** The settings that say where packs are kept. */
export type ExportStoreConfig = StoreConfig & Pick<ToolConfig, 'exportStore'>;

type StoreConfig = Pick<ToolConfig, 'awsRegion' | 's3Endpoint' | 's3KmsKeyId'> & {
  readonly secrets: Pick<
    ToolConfig['secrets'],
    'awsAccessKeyId' | 'awsSecretAccessKey' | 'awsSessionToken'
  >;
};

/**
 * The store that `EXPORT_STORE` names: a directory, or `s3://bucket/prefix`.
 * @throws Error for another address, or half of the credentials
 */
export function openExportStore(config: ExportStoreConfig): ObjectStore {
  return openStore(config, 'EXPORT_STORE', config.exportStore, PACK);
}

/** The store that `RECEIPT_ARCHIVE` names in the same way; undefined where it is not set. */
export function openReceiptArchive(
  config: StoreConfig & Pick<ToolConfig, 'receiptArchive'>,
): ObjectStore | undefined {
  const { receiptArchive: location } = config;
  if (location === undefined) return undefined;
  return openStore(config, 'RECEIPT_ARCHIVE', location, ARCHIVED_BODIES);
}

function openStore(
  { awsRegion: region, s3Endpoint: endpoint, s3KmsKeyId: kmsKeyId, secrets }: StoreConfig,
  setting: string,
  location: string,
  kind: ObjectKind,
): ObjectStore {
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/?$/.exec(location);
  if (match === null) {
    if (location.startsWith('s3:')) throw new Error(`${setting} must be s3://bucket/prefix`);
    return createDirectoryStore(location, kind);
  }
  return createS3Store({
    kind,
    bucket: match[1]!,
    prefix: match[2] ?? '',
    region,
    endpoint,
    credentials: credentialsOf(secrets),
    kmsKeyId,
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
