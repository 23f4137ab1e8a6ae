import { Client, type ClientConfig, type Pool } from 'pg';
import { PATIENCE } from '#patience';
import { ACCOUNT_STATES, limitsOf } from '#shared/accounts/account.ts';
import { negotiatedLimitsOf } from '#shared/accounts/postgres/accounts.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { queryRows, statement, type Row } from '#shared/kernel/postgres/statement.ts';
import {
  KEY_STATES,
  type Credential,
  type CredentialChange,
  type CredentialObserver,
  type HardBudget,
} from '../credential.ts';
import { scopesOnPlan } from '../rules.ts';
import { keyLimitOf } from './keys.ts';

/** One look-up in the unique index on the hash per key, however many are asked for. */
const FIND_BY_HASHES = statement(
  {
    hash: 'text',
    key_id: 'text',
    org_id: 'text',
    key_state: KEY_STATES,
    expires_at: 'timestamptz?',
    scopes: '_text',
    key_requests_per_second: 'int4?',
    key_burst: 'int4?',
    account_state: ACCOUNT_STATES,
    plan: PLANS,
    requests_per_second: 'int4?',
    burst: 'int4?',
    requests_per_day: 'int8?',
    concurrent_streams: 'int4?',
    allowed_regions: '_text?',
    allowed_models: '_text?',
    keep_responses: 'bool',
    tags: '_text',
    budgets: '_text',
  },
  `select encode(k.hash, 'hex') as hash, k.id as key_id, k.org_id, k.state as key_state,
     k.expires_at, k.scopes, k.requests_per_second as key_requests_per_second, k.burst as key_burst,
     a.state as account_state, a.plan, a.requests_per_second, a.burst, a.requests_per_day,
     a.concurrent_streams, a.allowed_regions, a.allowed_models, a.keep_responses, a.tags,
     array(select json_build_object('id', b.id, 'name', b.name, 'period', b.period, 'measure', b.measure,
         'currency', (select code from currency),
         'limit', b.limit_amount, 'model', case b.scope when 'model' then b.target end,
         'tag', case b.scope when 'tag' then b.target end)::text
       from budget b where b.org_id = k.org_id and b.mode = 'hard' and (b.scope <> 'key' or b.target = k.id)
       order by b.id) as budgets
   from api_key k join account a on a.id = k.org_id
   where k.hash = any($1::bytea[])`,
  { name: 'credentials-by-hash' },
);

export type CredentialSource = ReturnType<typeof createCredentialSource>;

/** Where credentials come from when they are not in memory. The statement is prepared once per connection. */
export function createCredentialSource(pool: Pool) {
  return {
    /** The credentials of these key hashes (hex), absent where no such key exists. Rejects when PostgreSQL cannot answer. */
    async findByHashes(hashes: readonly string[]): Promise<ReadonlyMap<string, Credential>> {
      const wanted = hashes.map((hash) => Buffer.from(hash, 'hex'));
      const rows = await queryRows(pool, FIND_BY_HASHES, [wanted]);
      return new Map(rows.map((row) => [row.hash, credentialOf(row)]));
    },
  };
}

const NO_BUDGETS: readonly HardBudget[] = [];
const NO_TAGS: readonly string[] = [];

/** As the statement has made it. */
const budgetOf = (text: string): HardBudget => JSON.parse(text) as HardBudget;

function credentialOf(row: Row<typeof FIND_BY_HASHES>): Credential {
  return {
    keyId: row.key_id,
    orgId: row.org_id,
    keyState: row.key_state,
    expiresAt: row.expires_at?.getTime() ?? null,
    scopes: scopesOnPlan(row.scopes, row.plan),
    plan: row.plan,
    accountState: row.account_state,
    limits: limitsOf({ plan: row.plan, negotiatedLimits: negotiatedLimitsOf(row) }),
    keyLimit: keyLimitOf(row.key_requests_per_second, row.key_burst),
    allowedRegions: row.allowed_regions,
    allowedModels: row.allowed_models,
    // Most have none, and share the empty list.
    budgets: row.budgets.length === 0 ? NO_BUDGETS : row.budgets.map(budgetOf),
    keepResponses: row.keep_responses,
    tags: row.tags.length === 0 ? NO_TAGS : row.tags,
  };
}

export type KeyUseStore = ReturnType<typeof createKeyUseStore>;

/**
 * Writes times of last use. Rows are locked in the order of their ids and rows that are busy are
 * skipped: neither two processes writing at once nor a revocation under way can end in a deadlock,
 * and a skipped time is followed by a later one.
 */
export function createKeyUseStore(pool: Pool) {
  return {
    /** Key id → epoch milliseconds of its last use. Earlier times than the stored one change nothing. */
    async recordUses(uses: ReadonlyMap<string, number>): Promise<void> {
      await pool.query(
        `with used as (select id, at from unnest($1::text[], $2::timestamptz[]) as u (id, at)),
           held as (select k.id from api_key k join used u using (id)
             where k.last_used_at is null or k.last_used_at < u.at
             order by k.id for no key update of k skip locked)
         update api_key k set last_used_at = u.at
         from used u join held h using (id) where k.id = u.id`,
        [[...uses.keys()], [...uses.values()].map((at) => new Date(at))],
      );
    },
  };
}

const CHANNEL = 'docket_credentials';
/** First and longest wait before the next attempt to listen again. */
const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 2_000;
/** A connection that was cut without a word is noticed by a question that gets no answer. */
const HEARTBEAT_MS = 2_000;
const ANSWER_MAX_MS = 2_000 * PATIENCE;

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
  const feed = new CredentialFeed(options);
  feed.start();
  return feed;
}

export class CredentialFeed {
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
