import { Client, type ClientConfig } from 'pg';
import type { CredentialChange, CredentialFeed, CredentialObserver } from '../port-credentials.ts';

const CHANNEL = 'docket_credentials';
/** First and longest wait before the next attempt to listen again. */
const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 2_000;
/** A connection that was cut without a word is noticed by a question that gets no answer. */
const HEARTBEAT_MS = 2_000;
const ANSWER_MAX_MS = 2_000;

export interface FeedOptions {
  /** How to reach PostgreSQL itself: LISTEN does not work through a pooler in transaction mode. */
  connection: ClientConfig;
  onChange: (change: CredentialChange) => void;
  observer: Pick<CredentialObserver, 'feedLost' | 'feedRestored'>;
}

/**
 * Listens for changes to keys and accounts on a connection of its own, and listens again whenever the
 * connection is lost. After each gap it says `unknown`, because notices of the gap are gone for good.
 */
export function listenForCredentialChanges(options: FeedOptions): CredentialFeed {
  const feed = new Feed(options);
  feed.start();
  return feed;
}

class Feed implements CredentialFeed {
  readonly #options: FeedOptions;
  #client: Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #waitMs = RECONNECT_MIN_MS;
  #lost = false;
  #closed = false;
  #connecting: Promise<void> = Promise.resolve();

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  start(): void {
    this.#connecting = this.#connect();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#connecting;
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    const client = new Client({
      ...this.#options.connection,
      keepAlive: true,
      connectionTimeoutMillis: ANSWER_MAX_MS,
      query_timeout: ANSWER_MAX_MS,
    });
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new Error('the connection ended')));
    client.on('notification', (notice) => {
      const change = parseNotice(notice.payload ?? '');
      if (client === this.#client) this.#options.onChange(change);
    });
    this.#client = client;
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
    } catch (error) {
      this.#lose(client, error);
      return;
    }
    if (client !== this.#client) return;
    this.#waitMs = RECONNECT_MIN_MS;
    if (this.#lost) {
      this.#lost = false;
      this.#options.observer.feedRestored();
    }
    // Also the first time: what changed between the process's start and now was not heard.
    this.#options.onChange({ kind: 'unknown' });
    this.#beat(client);
  }

  #beat(client: Client): void {
    if (this.#closed || client !== this.#client) return;
    this.#timer = setTimeout(() => {
      client.query('select 1').then(
        () => this.#beat(client),
        (error: unknown) => this.#lose(client, error),
      );
    }, HEARTBEAT_MS).unref();
  }

  /** Called by whichever sign of death comes first; the others find that the client is no longer ours. */
  #lose(client: Client, error: unknown): void {
    if (client !== this.#client) return;
    this.#client = null;
    clearTimeout(this.#timer);
    // A connection that does not answer would not take part in a polite goodbye either.
    client.end().catch(() => undefined);
    if (this.#closed) return;
    if (!this.#lost) this.#options.observer.feedLost(error);
    this.#lost = true;
    this.#timer = setTimeout(() => this.start(), this.#waitMs).unref();
    this.#waitMs = Math.min(this.#waitMs * 2, RECONNECT_MAX_MS);
  }
}

/** A notice that cannot be read is a change we know nothing of. */
function parseNotice(payload: string): CredentialChange {
  try {
    const notice = JSON.parse(payload) as { hash?: unknown; organisation?: unknown; at?: unknown };
    const at = typeof notice.at === 'number' ? notice.at : Date.now();
    if (typeof notice.hash === 'string') return { kind: 'key', hash: notice.hash, at };
    if (typeof notice.organisation === 'string') {
      return { kind: 'organisation', orgId: notice.organisation, at };
    }
  } catch {
    // Falls through: not JSON.
  }
  return { kind: 'unknown' };
}
