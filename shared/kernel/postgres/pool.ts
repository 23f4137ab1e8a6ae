import { Client, type ClientBase, Pool, type PoolConfig } from 'pg';
import { PATIENCE } from '#patience';
import { DatabaseProblem } from './fitness.ts';
import { queryRow, statement } from './statement.ts';

/** The roles of migrations/0001_roles.sql: what a process may do in the database. */
export type DatabaseRole =
  | 'docket_api'
  | 'docket_receipts'
  | 'docket_ledger'
  | 'docket_recalculation'
  | 'docket_exports'
  | 'docket_purge'
  | 'docket_housekeeping'
  | 'docket_operator';

export interface PoolOptions {
  url: string;
  /** The role each connection steps down to; without one it keeps the rights of the URL's user. */
  role?: DatabaseRole;
  /** `transaction`: the URL leads to a pooler that gives each transaction another connection to the server. */
  pooler?: 'transaction' | undefined;
  /** Connections at most. */
  max: number;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** After this PostgreSQL cancels a statement; unbounded when absent (migrations). */
  statementTimeoutMs?: number;
  /**
   * A connection plans each statement that has a name once, for all parameters. PostgreSQL left to itself plans one anew at each
   * call for as long as that looks cheaper, and counts planning for far less than it takes.
   */
  keepsPlans?: boolean;
  /** Told of connections that broke while idle; the pool replaces them by itself. */
  onError?: (error: Error) => void;
}

/** How long to wait for a connection. A healthy server answers in a few milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000 * PATIENCE;
/** A connection costs both sides milliseconds to make: it is kept for longer than most rounds by the clock are apart. */
const UNUSED_MS = 30_000;
/** How much later than the server's own time-out a silent connection is given up. */
const SILENCE_MS = 2_000;

/**
 * A pool whose connections act as one role. Losing PostgreSQL never ends the process: queries
 * fail while it is away, and the next one after its return connects anew.
 */
export function createPool(options: PoolOptions): Pool {
  const { pooler, max, applicationName, statementTimeoutMs, onError = () => {} } = options;
  const pool = new Pool({
    ...(pooler === undefined ? ofSessions(options) : ofTransactions(options)),
    max,
    // Of what a connection says at its start, PgBouncer takes this and the encoding as it is shipped, and nothing else.
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: UNUSED_MS,
    keepAlive: true,
    ...(statementTimeoutMs === undefined ? {} : { query_timeout: statementTimeoutMs + SILENCE_MS }),
  });
  pool.on('error', onError);
  // A connection that breaks during a query rejects that query; without a listener it would also end
  // the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Connections that are the server's own: each keeps its role, its time-outs and what it has prepared. */
function ofSessions({ url, role, statementTimeoutMs, keepsPlans }: PoolOptions): PoolConfig {
  const settings = {
    ...(role === undefined ? {} : { role }),
    ...(keepsPlans ? { plan_cache_mode: 'force_generic_plan' } : {}),
  };
  return {
    Client: SelfClosingClient,
    connectionString: withSettings(url, settings),
    ...(statementTimeoutMs === undefined
      ? {}
      : {
          statement_timeout: statementTimeoutMs,
          idle_in_transaction_session_timeout: statementTimeoutMs,
        }),
  };
}

/**
 * Connections to a pooler: nothing is said at their start, nothing is prepared under a name, and time-outs are those of a
 * transaction. Nothing can be stepped down from, so the login has to be the role itself, which each connection looks at.
 */
function ofTransactions({ url, role, statementTimeoutMs }: PoolOptions): PoolConfig {
  return {
    Client: pooledClient(statementTimeoutMs),
    connectionString: url,
    ...(role === undefined ? {} : { onConnect: (client) => mustActAs(client, role) }),
  };
}

const ACTS_AS = statement({ name: 'text' }, 'select current_user::text as name');

async function mustActAs(client: ClientBase, role: DatabaseRole): Promise<void> {
  const { name } = (await queryRow(client, ACTS_AS))!;
  if (name === role) return;
  throw new DatabaseProblem(
    `The database login acts as ${name}, and this process has to act as ${role}, which behind a pooler the login itself must do. Name the login ${role}, or run as a superuser: alter role ${name} set role ${role}.`,
  );
}

/**
 * Settings as start-up parameters: a connection never exists without its role, and a role that is not there, or not ours,
 * refuses the connection.
 */
function withSettings(url: string, settings: Readonly<Record<string, string>>): string {
  const target = new URL(url);
  const given = target.searchParams.get('options');
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const options = [...(given === null ? [] : [given]), ...ours].join(' ');
  if (options === '') return url;
  target.searchParams.set('options', options);
  return target.href;
}

/**
 * When an answer does not come in time the network has most likely swallowed the connection. It is
 * closed, so that it does not go back into the pool to swallow the next query too.
 */
class SelfClosingClient extends Client {
  // The driver's own type has nine overloads; this passes its arguments through.
  override query = ((...args: Parameters<Client['query']>): unknown => {
    const result: unknown = super.query(...this.adapted(args));
    if (result instanceof Promise) result.catch((error: unknown) => this.#closeIfSilent(error));
    return result;
  }) as Client['query'];

  /** What is sent in place of what was asked. */
  protected adapted(args: Parameters<Client['query']>): Parameters<Client['query']> {
    return args;
  }

  #closeIfSilent(error: unknown): void {
    if (error instanceof Error && error.message === 'Query read timeout') {
      this.end().catch(() => {});
    }
  }
}

/** A client whose transactions may run on any connection of the server, and bring their time-outs with them. */
function pooledClient(statementTimeoutMs: number | undefined): typeof SelfClosingClient {
  const begin =
    statementTimeoutMs === undefined
      ? 'begin'
      : `begin; set local statement_timeout = ${statementTimeoutMs}; set local idle_in_transaction_session_timeout = ${statementTimeoutMs}`;
  return class extends SelfClosingClient {
    protected override adapted(args: Parameters<Client['query']>): Parameters<Client['query']> {
      const [first, ...rest] = args as [unknown, ...unknown[]];
      // One message for all of them, so a transaction costs no round trip more.
      if (first === 'begin') return [begin, ...rest] as unknown as Parameters<Client['query']>;
      if (typeof first !== 'object' || first === null || !('name' in first)) return args;
      const { name: _, ...unnamed } = first;
      return [unnamed, ...rest] as unknown as Parameters<Client['query']>;
    }
  };
}
