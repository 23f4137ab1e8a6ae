import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { CredentialCache } from '#api/auth/credential-cache.ts';
import { KeyUseRecorder } from '#api/auth/key-use.ts';
import { listenForCredentialChanges } from '#shared/keys/postgres/credentials.ts';
import { createCredentialSource, createKeyUseStore } from '#shared/keys/postgres/credentials.ts';
import type { CredentialFeed } from '#shared/keys/postgres/credentials.ts';
import { movableClock, type MovableClock } from './accounts.ts';
import { buildTestApp } from './app.ts';
import type { TestDatabase } from './database.ts';
import { atFileEnd } from './file-end.ts';

export interface AccountEdge {
  app: FastifyInstance;
  cache: CredentialCache;
  keyUse: KeyUseRecorder;
  /** Moves the epoch clock of the edge, and the ages in its cache. */
  clock: MovableClock;
  /** Delays of the change notices that have arrived, in milliseconds. */
  delays: number[];
  /** Resolves when every change that is committed by now has been taken in: notices come in their order. */
  caughtUp(): Promise<void>;
  /** Resolves when the feed has been lost and is back. */
  feedBack(): Promise<void>;
}

/** The part of an api process that knows keys: its own cache, its own feed. `listens: false` is one whose notices are all lost. */
export async function createAccountEdge(
  database: TestDatabase,
  { listens = true } = {},
): Promise<AccountEdge> {
  const clock = movableClock();
  const pool = database.poolAs('docket_api', 4);
  const delays: number[] = [];
  const awaited = new Map<string, () => void>();
  let onFeedBack = (): void => {};
  const cache = new CredentialCache({
    source: createCredentialSource(pool),
    monotonicNow: () => performance.now() + (clock.now() - Date.now()),
    observer: {
      changeArrived: (delayMs) => delays.push(delayMs),
      lookedUp() {},
      feedLost() {},
      feedRestored: () => onFeedBack(),
    },
  });
  const keyUse = new KeyUseRecorder(createKeyUseStore(pool));
  const app = await buildTestApp(pool, {
    authenticate: { credentials: cache, keyUse, now: () => clock.now() },
    surroundings: clock,
  });
  let feed: CredentialFeed | undefined;
  if (listens) {
    const listening = Promise.withResolvers<void>();
    feed = listenForCredentialChanges({
      connection: { connectionString: database.url, application_name: 'feed of an edge' },
      observer: { feedLost() {}, feedRestored: () => onFeedBack() },
      onChange: (change) => {
        cache.changed(change);
        listening.resolve();
        if (change.kind === 'key') awaited.get(change.hash)?.();
      },
    });
    await listening.promise;
  }
  atFileEnd(async () => {
    await feed?.close();
    await keyUse.close();
  });
  return {
    app,
    cache,
    keyUse,
    clock,
    delays,
    async caughtUp() {
      const hash = randomBytes(32).toString('hex');
      const heard = new Promise<void>((resolve) => awaited.set(hash, resolve));
      const notice = JSON.stringify({ hash, at: Date.now() });
      await database.pool.query('select pg_notify($1, $2)', ['docket_credentials', notice]);
      await heard;
      awaited.delete(hash);
    },
    feedBack: () => new Promise((resolve) => (onFeedBack = resolve)),
  };
}
