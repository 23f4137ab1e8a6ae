import { Fault } from './errors.ts';

/** How deep errors are looked through for what they come from. */
const CAUSES_MAX = 5;

/** Of a socket that cannot be opened, or was cut. */
const ERRNOS: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/**
 * PostgreSQL (Appendix A of its documentation): connections that failed (08), a statement that took too long (57014), a server
 * that ends, has ended or is starting (57P01 to 57P03), too many connections (53300), a standby (25006).
 */
const SQLSTATE = /^(?:08...|57014|57P0[123]|53300|25006)$/;

/** What a request is refused with that Redis has given the reply of another command for. */
export const NO_VERDICT = 'Redis has answered for another command';

/** What the drivers of PostgreSQL and Redis say without a code, and how Redis begins what it says while it cannot be used. */
const SAID = [
  /^Connection terminated/,
  /^timeout exceeded when trying to connect$/,
  /^timeout expired$/,
  /^Query read timeout$/,
  /^Client (?:has encountered a connection error|was closed) and is not queryable$/,
  /^Connection is (?:closed\.$|discarded because|aborted)/,
  /^Command (?:timed out$|aborted due to connection close)/,
  /^(?:Stream isn't writeable|Cluster isn't ready) and enableOfflineQueue options is false$/,
  /^(?:Node is disconnected$|Cluster is |None of startup nodes is available|Too many Cluster redirections)/,
  /^(?:Failed to refresh slots cache|No master node is available|Socket timeout\. )/,
  // Commands that were put together for one master, which has lost some of their slots before they were sent.
  /^All keys in the pipeline should belong to the same slots allocation group$/,
  new RegExp(`^${NO_VERDICT}$`),
  // A cluster that says MOVED again and again sends its clients to a master that is gone.
  /^(?:READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MOVED|ASK|TRYAGAIN|UNBLOCKED|BUSY|MISCONF|OOM) /,
  /^ERR WAIT cannot be used with replica instances/,
];
const NAMES: ReadonlySet<string> = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError']);

/**
 * Whether an error, or what it comes from, says that PostgreSQL or Redis cannot be reached or used now, or the object store not
 * be reached: the same may work in a moment. What they refuse for what it is, as a statement that is wrong, is no such error.
 */
export function isStoreAway(error: unknown): boolean {
  let at = error;
  for (let depth = 0; depth < CAUSES_MAX && at instanceof Error; depth += 1) {
    if (saysAway(at)) return true;
    at = at.cause;
  }
  return false;
}

/** What a caller is told of an error that a question to a store has ended with. */
export function failureOfStore(error: unknown, message?: string): Fault {
  const code = isStoreAway(error) ? 'store_unavailable' : 'internal_error';
  return new Fault(code, { cause: error, ...(message === undefined ? {} : { message }) });
}

function saysAway({ name, message, code }: Error & { code?: unknown }): boolean {
  if (NAMES.has(name) || SAID.some((words) => words.test(message))) return true;
  return typeof code === 'string' && (ERRNOS.has(code) || SQLSTATE.test(code));
}
