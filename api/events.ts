import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
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
import { metricsOf } from '#shared/process/metrics.ts';

/** What is noted of a refused request; one that is refused before routing has no route. */
type RefusedRequest = Pick<FastifyRequest, 'id' | 'method'> & {
  routeOptions?: Pick<FastifyRequest['routeOptions'], 'url'>;
};

const TOO_MANY: Readonly<Record<ConnectionBound, string>> = {
  address: 'too many connections of address',
  all: 'too many connections of all',
  requests: 'too many requests without an answer on one connection',
  refusals: 'too many refusals wait, of one address or of all',
};

const DURATION_BUCKETS_S = [0.002, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

function apiMetrics(registry: Registry) {
  const { counter, histogram } = metricsOf(registry);
  return {
    answers: histogram(
      'docket_request_duration_seconds',
      'From the request to its whole answer',
      DURATION_BUCKETS_S,
      ['route'],
    ),
    firsts: histogram(
      'docket_first_frame_seconds',
      'From the request of a stream to the first of its answer',
      DURATION_BUCKETS_S,
      ['route'],
    ),
    refusals: counter(
      'docket_refusals_total',
      'Answers with an error envelope, by code; parameters without a code of their own are invalid_other',
      ['code', 'type'],
    ),
    late: counter(
      'docket_receipts_late_total',
      'Answers that went out before their signed receipt',
    ),
    gone: counter('docket_clients_gone_total', 'Requests whose client left before the end'),
    lost: counter(
      'docket_requests_lost_total',
      'Requests that Redis lost, before they ran or with their answer',
    ),
    unjudged: counter(
      'docket_moderation_skipped_total',
      'Requests that passed because the moderation endpoint could not be asked',
    ),
    connections: counter(
      'docket_connections_refused_total',
      'Connections closed for too many: of an address, of all, requests on one, refusals that wait',
      ['bound'],
    ),
    unrecorded: counter(
      'docket_requests_unrecorded_total',
      'Requests that are missing in the list of requests: PostgreSQL was away for longer than rows of them could wait',
    ),
    stores: counter('docket_store_errors_total', 'Errors of this process with Redis or PostgreSQL'),
  };
}

export type ApiEvents = ReturnType<typeof apiEvents>;

/**
 * The events of an api process, each as one function that writes the log line and the metric together.
 * @param logsAccess each answer has a line
 */
export function apiEvents(log: Logger, registry: Registry, logsAccess = false) {
  const metrics = apiMetrics(registry);
  // A series that begins with its first refusal has not risen, as alarms see it.
  for (const [code, { type, status }] of Object.entries(CODES)) {
    if (status >= 500) metrics.refusals.inc({ code, type }, 0);
  }
  return {
    answered: (entry: UnroutedEntry): void => {
      const ms = Date.now() - entry.startedAt;
      metrics.answers.observe({ route: entry.route }, ms / 1_000);
      if (!log.isLevelEnabled('debug')) return;
      const { id, orgId, stream } = entry;
      log.debug({ event: 'answered', requestId: id, orgId, stream, ms });
    },
    /** The first of a stream's answer has come. */
    streamBegan: ({ route, startedAt }: UnroutedEntry): void => {
      metrics.firsts.observe({ route }, (Date.now() - startedAt) / 1_000);
    },
    refused: (fault: Fault, request: RefusedRequest): void => {
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
    /** A program has asked the admin API. */
    askedByOperator: ({ requestId, ...asked }: AskedByOperator): void => {
      log.info({ event: 'admin_answered', requestId, ...asked });
    },
    /** The answer to a request has ended, or its client has left. */
    ended: (answered: Answered, span: Span | null): void => {
      if (logsAccess) log.info({ event: 'access', ...accessLineOf(answered) });
      if (span !== null) endSpan(span, answered);
    },
    failedInside: (error: unknown, request: FastifyRequest): void => {
      log.error({
        event: 'internal_error',
        requestId: request.id,
        route: request.routeOptions?.url,
        err: error,
      });
    },
    receiptLate: (entry: InferenceEntry): void => {
      metrics.late.inc();
      log.warn({ event: 'receipt_late', requestId: entry.id });
    },
    clientGone: (entry: UnroutedEntry): void => {
      metrics.gone.inc();
      log.debug({ event: 'client_gone', requestId: entry.id });
    },
    /** Redis has neither the request nor the answer to it any more. */
    requestLost: (entry: UnroutedEntry): void => {
      metrics.lost.inc();
      log.warn({ event: 'request_lost', requestId: entry.id });
    },
    /** A request passed without the second stage of screening, which could not be asked. */
    unjudged: (): void => {
      metrics.unjudged.inc();
      log.warn({ event: 'moderation_skipped' });
    },
    storeFailed: (error: unknown): void => {
      metrics.stores.inc();
      log.warn({
        event: 'store_error',
        message: error instanceof Error ? error.message : String(error),
      });
    },
    /** Rows of requests cannot be written: they wait while there is room. Told once, until some can. */
    requestsUnwritten: (error: unknown): void => {
      log.warn({ event: 'requests_unwritten', err: error });
    },
    /** So many requests have no row and will have none. */
    requestsUnrecorded: (rows: number): void => {
      metrics.unrecorded.inc(rows);
    },
    /** A connection was closed, because there was too much of this. */
    connectionRefused: (bound: ConnectionBound): void => {
      metrics.connections.inc({ bound });
      log.warn({
        event: 'connections_refused',
        bound,
        message: TOO_MANY[bound],
      });
    },
    /** A thread that reads large bodies has ended: of a body, or of a fault of ours. */
    readerLost: (error: unknown): void => {
      log.error({ event: 'body_reader_lost', err: error });
    },
    /** Changed signing keys cannot be read; the ones known before stay published. */
    signingKeysUnreadable: (error: unknown): void => {
      log.error({ event: 'signing_keys_unreadable', err: error });
    },
    credentials: credentialEvents(log, registry),
  };
}

/** Revocations must reach every process within a second; this is what shows it. */
function credentialEvents(log: Logger, registry: Registry): CredentialObserver {
  const { counter, histogram } = metricsOf(registry);
  const delay = histogram(
    'docket_credential_change_delay_seconds',
    'From a change of a key or account to this process knowing it',
    [0.005, 0.02, 0.1, 0.5, 1, 2, 5],
  );
  const lookups = counter(
    'docket_credential_lookups_total',
    'Look-ups of keys in this process, by how they were answered',
    ['outcome'],
  );
  return {
    changeArrived: (ms) => delay.observe(ms / 1_000),
    lookedUp: (outcome) => lookups.inc({ outcome }),
    feedLost: (error) => log.warn({ event: 'credential_feed_lost', err: error }),
    feedRestored: () => log.info({ event: 'credential_feed_restored' }),
  };
}
