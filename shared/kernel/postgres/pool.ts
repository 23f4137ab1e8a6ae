import { Client, Pool } from 'pg';
import { PATIENCE } from '#patience';

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
  /** Connections at most. */
  max: number;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** After this PostgreSQL cancels a statement; unbounded when absent (migrations). */
  statementTimeoutMs?: number;
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
  const { role, max, applicationName, statementTimeoutMs, onError = () => {} } = options;
  const pool = new Pool({
    Client: SelfClosingClient,
    connectionString: withRole(options.url, role),
    max,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: UNUSED_MS,
    keepAlive: true,
    ...(statementTimeoutMs === undefined
      ? {}
      : {
          statement_timeout: statementTimeoutMs,
          query_timeout: statementTimeoutMs + SILENCE_MS,
          idle_in_transaction_session_timeout: statementTimeoutMs,
        }),
  });
  pool.on('error', onError);
  // A connection that breaks during a query rejects that query; without a listener it would also end
  // the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * The role as a start-up parameter: a connection never exists without it, and a role that is not
 * there, or not ours, refuses the connection. A pooler in between must work in session mode.
 */
function withRole(url: string, role: DatabaseRole | undefined): string {
  if (role === undefined) return url;
  const target = new URL(url);
  const given = target.searchParams.get('options') ?? '';
  target.searchParams.set('options', `${given} -c role=${role}`.trim());
  return target.href;
}

/**
 * When an answer does not come in time the network has most likely swallowed the connection. It is
 * closed, so that it does not go back into the pool to swallow the next query too.
 */
class SelfClosingClient extends Client {
  // The driver's own type has nine overloads; this passes its arguments through.
  override query = ((...args: Parameters<Client['query']>): unknown => {
    const result: unknown = super.query(...args);
    if (result instanceof Promise) result.catch((error: unknown) => this.#closeIfSilent(error));
    return result;
  }) as Client['query'];

  #closeIfSilent(error: unknown): void {
    if (error instanceof Error && error.message === 'Query read timeout') {
      this.end().catch(() => {});
    }
  }
}
