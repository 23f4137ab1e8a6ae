import { randomBytes } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll } from 'vitest';
import { CredentialCache } from '#api/auth/credential-cache.ts';
import { KeyUseRecorder } from '#api/auth/key-use.ts';
import { authenticate } from '#api/plugins/authenticate.ts';
import { replyWithError } from '#api/plugins/reply-with-error.ts';
import { accountRoutes } from '#api/routes/account.ts';
import { auditLogRoutes } from '#api/routes/audit-log.ts';
import { keyRoutes } from '#api/routes/keys.ts';
import { listenForCredentialChanges } from '#shared/keys/postgres/credentials.ts';
import { createCredentialSource, createKeyUseStore } from '#shared/keys/postgres/credentials.ts';
import type { CredentialFeed } from '#shared/keys/postgres/credentials.ts';
import { createRegistries, movableClock, type MovableClock } from './accounts.ts';
import type { TestDatabase } from './database.ts';

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
  const registries = createRegistries(pool, clock);
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
  const app = Fastify();
  replyWithError(app, { onInternalError() {}, onRefusal() {} });
  await app.register(authenticate, {
    credentials: cache,
    keyUse,
    now: () => clock.now(),
  });
  const now = (): number => clock.now();
  await app.register(keyRoutes, { prefix: '/v1', keys: registries.keys, now });
  await app.register(accountRoutes, { prefix: '/v1', accounts: registries.accounts });
  await app.register(auditLogRoutes, { prefix: '/v1', audit: registries.audit });
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
  afterAll(async () => {
    await feed?.close();
    await keyUse.close();
    await app.close();
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
