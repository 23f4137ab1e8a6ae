import type { Pool } from 'pg';
import { listenForCredentialChanges } from '#shared/keys/postgres/credentials.ts';
import { createCredentialSource, createKeyUseStore } from '#shared/keys/postgres/credentials.ts';
import type { ProcessContext } from '#shared/process/run-process.ts';
import type { ApiEvents } from '#api/events.ts';
import { CredentialCache } from './credential-cache.ts';
import { KeyUseRecorder } from './key-use.ts';

/**
 * Authentication: keys in memory, kept current by notices, and the record of their use. A pooler that gives each transaction
 * another connection passes no notices on: where PostgreSQL itself is not to be had beside it, a key in use is read again
 * every two seconds and served for 4.5 at most, as while notices are lost.
 */
export function openCredentials({ config, log }: ProcessContext, pool: Pool, events: ApiEvents) {
  const credentials = new CredentialCache({
    source: createCredentialSource(pool),
    observer: events.credentials,
  });
  const keyUse = new KeyUseRecorder(createKeyUseStore(pool));
  const { databaseUrl, databaseDirectUrl } = config.secrets;
  const isPooled = config.databasePooler !== undefined;
  const connectionString = isPooled ? databaseDirectUrl : databaseUrl;
  if (connectionString === undefined) log.warn({ event: 'credential_notices_unheard' });
  const feed =
    connectionString === undefined
      ? undefined
      : listenForCredentialChanges({
          connection: { connectionString },
          onChange: (change) => credentials.changed(change),
          observer: events.credentials,
        });
  return {
    credentials,
    keyUse,
    close: async (): Promise<void> => {
      await keyUse.close();
      await feed?.close();
    },
  };
}
