import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Counter, Histogram, type Registry } from 'prom-client';
import { CODES, countedCode } from '#shared/kernel/error-codes.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import type { CredentialObserver } from '#shared/keys/credential.ts';
import type { Span } from '#shared/process/traces/traces.ts';
import { accessLineOf, type Answered } from '#api/plugins/answered.ts';
import type { ConnectionBound } from '#api/plugins/connections.ts';
import { endSpan } from '#api/plugins/request-spans.ts';
import type { AskedByOperator } from '#api/admin/app.ts';
import type { UnroutedEntry } from '#api/inference/read.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';

/** What is noted of a refused request; one that is refused before routing has no route. */
type RefusedRequest = Pick<FastifyRequest, 'id' | 'method'> & {
  routeOptions?: Pick<FastifyRequest['routeOptions'], 'url'>;
};

/** The events of an api process, each as one function that writes the log line and the metric together. */
export interface ApiEvents {
  answered: (entry: UnroutedEntry) => void;
  /** The first of a stream's answer has come. */
  streamBegan: (entry: UnroutedEntry) => void;
  refused: (fault: Fault, request: RefusedRequest) => void;
  /** The answer to a request has ended, or its client has left. */
  ended: (answered: Answered, span: Span | null) => void;
  failedInside: (error: unknown, request: FastifyRequest) => void;
  /** A program has asked the admin API. */
  askedByOperator: (asked: AskedByOperator) => void;
  receiptLate: (entry: InferenceEntry) => void;
  clientGone: (entry: UnroutedEntry) => void;
  /** Redis has neither the request nor the answer to it any more. */
  requestLost: (entry: UnroutedEntry) => void;
  /** A request passed without the second stage of screening, which could not be asked. */
  unjudged: () => void;
  storeFailed: (error: unknown) => void;
  /** Rows of requests cannot be written: they wait while there is room. Told once, until some can. */
  requestsUnwritten: (error: unknown) => void;
  /** So many requests have no row and will have none. */
  requestsUnrecorded: (rows: number) => void;
  /** A connection was closed, because there was too much of this. */
  connectionRefused: (bound: ConnectionBound) => void;
  /** A thread that reads large bodies has ended: of a body, or of a fault of ours. */
  readerLost: (error: unknown) => void;
  /** Changed signing keys cannot be read; the ones known before stay published. */
  signingKeysUnreadable: (error: unknown) => void;
  /** The events of the credential cache. */
  credentials: CredentialObserver;
}

const TOO_MANY: Readonly<Record<ConnectionBound, string>> = {
  address: 'too many connections of address',
  all: 'too many connections of all',
  requests: 'too many requests without an answer on one connection',
  refusals: 'too many refusals wait, of one address or of all',
};

const DURATION_BUCKETS_S = [0.002, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

function apiMetrics(registry: Registry) {
  const registers = [registry];
  return {
    answers: new Histogram({
      name: 'docket_request_duration_seconds',
      help: 'From the request to its whole answer',
      labelNames: ['route'],
      buckets: DURATION_BUCKETS_S,
      registers,
    }),
    firsts: new Histogram({
      name: 'docket_first_frame_seconds',
      help: 'From the request of a stream to the first of its answer',
      labelNames: ['route'],
      buckets: DURATION_BUCKETS_S,
      registers,
    }),
    refusals: new Counter({
      name: 'docket_refusals_total',
      help: 'Answers with an error envelope, by code; parameters without a code of their own are invalid_other',
      labelNames: ['code', 'type'],
      registers,
    }),
    late: new Counter({
      name: 'docket_receipts_late_total',
      help: 'Answers that went out before their signed receipt',
      registers,
    }),
    gone: new Counter({
      name: 'docket_clients_gone_total',
      help: 'Requests whose client left before the end',
      registers,
    }),
    lost: new Counter({
      name: 'docket_requests_lost_total',
      help: 'Requests that Redis lost, before they ran or with their answer',
      registers,
    }),
    unjudged: new Counter({
      name: 'docket_moderation_skipped_total',
      help: 'Requests that passed because the moderation endpoint could not be asked',
      registers,
    }),
    connections: new Counter({
      name: 'docket_connections_refused_total',
      help: 'Connections closed for too many: of an address, of all, requests on one, refusals that wait',
      labelNames: ['bound'],
      registers,
    }),
    unrecorded: new Counter({
      name: 'docket_requests_unrecorded_total',
      help: 'Requests that are missing in the list of requests: PostgreSQL was away for longer than rows of them could wait',
      registers,
    }),
    stores: new Counter({
      name: 'docket_store_errors_total',
      help: 'Errors of this process with Redis or PostgreSQL',
      registers,
    }),
  };
}

/** `logsAccess`: each answer has a line. */
export function apiEvents(log: Logger, registry: Registry, logsAccess = false): ApiEvents {
  const metrics = apiMetrics(registry);
  // A series that begins with its first refusal has not risen, as alarms see it.
  for (const [code, { type, status }] of Object.entries(CODES)) {
    if (status >= 500) metrics.refusals.inc({ code, type }, 0);
  }
  return {
    answered(entry) {
      const ms = Date.now() - entry.startedAt;
      metrics.answers.observe({ route: entry.route }, ms / 1_000);
      if (!log.isLevelEnabled('debug')) return;
      const { id, orgId, stream } = entry;
      log.debug({ event: 'answered', requestId: id, orgId, stream, ms });
    },
    streamBegan({ route, startedAt }) {
      metrics.firsts.observe({ route }, (Date.now() - startedAt) / 1_000);
    },
    refused(fault, request) {
      metrics.refusals.inc({ code: countedCode(fault.code), type: fault.type });
      if (!log.isLevelEnabled('debug')) return;
      const { method, id, routeOptions } = request;
      log.debug({
        event: 'refused',
        requestId: id,
        method,
        route: routeOptions?.url,
        code: fault.code,
      });
    },
    askedByOperator({ requestId, ...asked }) {
      log.info({ event: 'admin_answered', requestId, ...asked });
    },
    ended(answered, span) {
      if (logsAccess) log.info({ event: 'access', ...accessLineOf(answered) });
      if (span !== null) endSpan(span, answered);
    },
    failedInside(error, request) {
      log.error({
        event: 'internal_error',
        requestId: request.id,
        route: request.routeOptions?.url,
        err: error,
      });
    },
    receiptLate(entry) {
      metrics.late.inc();
      log.warn({ event: 'receipt_late', requestId: entry.id });
    },
    clientGone(entry) {
      metrics.gone.inc();
      log.debug({ event: 'client_gone', requestId: entry.id });
    },
    requestLost(entry) {
      metrics.lost.inc();
      log.warn({ event: 'request_lost', requestId: entry.id });
    },
    unjudged() {
      metrics.unjudged.inc();
      log.warn({ event: 'moderation_skipped' });
    },
    storeFailed(error) {
      metrics.stores.inc();
      log.warn({
        event: 'store_error',
        message: error instanceof Error ? error.message : String(error),
      });
    },
    requestsUnwritten(error) {
      log.warn({ event: 'requests_unwritten', err: error });
    },
    requestsUnrecorded(rows) {
      metrics.unrecorded.inc(rows);
    },
    connectionRefused(bound) {
      metrics.connections.inc({ bound });
      log.warn({
        event: 'connections_refused',
        bound,
        message: TOO_MANY[bound],
      });
    },
    readerLost(error) {
      log.error({ event: 'body_reader_lost', err: error });
    },
    signingKeysUnreadable(error) {
      log.error({ event: 'signing_keys_unreadable', err: error });
    },
    credentials: credentialEvents(log, registry),
  };
}

/** Revocations must reach every process within a second; this is what shows it. */
function credentialEvents(log: Logger, registry: Registry): CredentialObserver {
  const registers = [registry];
  const delay = new Histogram({
    name: 'docket_credential_change_delay_seconds',
    help: 'From a change of a key or account to this process knowing it',
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2, 5],
    registers,
  });
  const lookups = new Counter({
    name: 'docket_credential_lookups_total',
    help: 'Look-ups of keys in this process, by how they were answered',
    labelNames: ['outcome'],
    registers,
  });
  return {
    changeArrived: (ms) => delay.observe(ms / 1_000),
    lookedUp: (outcome) => lookups.inc({ outcome }),
    feedLost: (error) => log.warn({ event: 'credential_feed_lost', err: error }),
    feedRestored: () => log.info({ event: 'credential_feed_restored' }),
  };
}
