import type { Pool } from 'pg';
import { listenForCredentialChanges } from '#shared/keys/postgres/credentials.ts';
import { createCredentialSource, createKeyUseStore } from '#shared/keys/postgres/credentials.ts';
import type { ProcessContext } from '#shared/process/run-process.ts';
import type { ApiEvents } from '#api/events.ts';
import { CredentialCache } from './credential-cache.ts';
import { KeyUseRecorder } from './key-use.ts';

/** Authentication: keys in memory, kept current by notices, and the record of their use. */
export function openCredentials({ config }: ProcessContext, pool: Pool, events: ApiEvents) {
  const credentials = new CredentialCache({
    source: createCredentialSource(pool),
    observer: events.credentials,
  });
  const keyUse = new KeyUseRecorder(createKeyUseStore(pool));
  const feed = listenForCredentialChanges({
    connection: { connectionString: config.secrets.databaseUrl },
    onChange: (change) => credentials.changed(change),
    observer: events.credentials,
  });
  return {
    credentials,
    keyUse,
    close: async (): Promise<void> => {
      await keyUse.close();
      await feed.close();
    },
  };
}
