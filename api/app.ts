import proxyAddr from '@fastify/proxy-addr';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type OnAnswered, tellOfAnswers } from '#api/plugins/answered.ts';
import { authenticate, type AuthenticateOptions, ownerOfKey } from '#api/plugins/authenticate.ts';
import { Arrivals, beginInOrder } from '#api/plugins/arrivals.ts';
import { answerClientError } from '#api/plugins/client-errors.ts';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { boundConnections } from '#api/plugins/connections.ts';
import { boundPieces } from '#api/plugins/body-pieces.ts';
import { allowOrigins, answerPreflights } from '#api/plugins/cross-origin.ts';
import { refuseBeforeRouting } from '#api/plugins/early-refusals.ts';
import { isOfMessages } from '#api/anthropic/error-envelope.ts';
import { errorAnswer, errorHeaders, idHeaders } from '#api/plugins/error-envelope.ts';
import { answerHalfClosedClients } from '#api/plugins/half-closed-clients.ts';
import { readNoFurtherParameters } from '#api/plugins/parameters.ts';
import { HeldRefusals } from '#api/plugins/held-refusals.ts';
import { intake } from '#api/plugins/intake.ts';
import { boundOpenRequests } from '#api/plugins/open-requests.ts';
import {
  Addresses,
  isOfAddress,
  limitAddresses,
  Organisations,
  type RatesOptions,
  Refusals,
  takeOfAddress,
} from '#api/plugins/rates.ts';
import {
  faultOf,
  HEADERS_MAX,
  looksForPage,
  replyWithError,
  sendFault,
} from '#api/plugins/reply-with-error.ts';
import { placeAddresses } from '#api/plugins/address-places.ts';
import { Drainage, drainUnreadBodies } from '#api/plugins/unread-bodies.ts';
import { placeOrganisations } from '#api/plugins/organisation-places.ts';
import { RequestsOfCallers } from '#api/plugins/requests-of-callers.ts';
import { RequestSpans } from '#api/plugins/request-spans.ts';
import { serialisersOnUse } from '#api/plugins/serialisers.ts';
import { Turns } from '#api/plugins/turns.ts';
import { UnreadAnswers } from '#api/plugins/unread-answers.ts';
import { validateParameters } from '#api/plugins/validate-parameters.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Rate } from '#shared/kernel/plan.ts';
import type { Traces } from '#shared/process/traces/traces.ts';
import type { ApiEvents } from './events.ts';
import { parseJsonBodies } from '#api/plugins/json-bodies.ts';
import type { DescriptionOptions } from '#api/docs/document.ts';
import { collectOperations } from '#api/docs/operation.ts';
import { accountRoutes, type AccountRoutesOptions } from '#api/routes/account.ts';
import { anchorRoutes, type AnchorRoutesOptions, publicAnchorRoutes } from '#api/routes/anchor.ts';
import { auditLogRoutes, type AuditLogRoutesOptions } from '#api/routes/audit-log.ts';
import { readGuideFiles } from '#api/docs/guides/files.ts';
import { guidesOf } from '#api/docs/guides/guides.ts';
import { docsPlaces } from '#api/docs/places.ts';
import { docsRoutes } from '#api/routes/docs.ts';
import { madeOnce } from '#shared/kernel/made-once.ts';
import { exportRoutes, type ExportRoutesOptions } from '#api/routes/exports.ts';
import type { DashboardDeps } from '#api/dashboard/deps.ts';
import { playgroundRuns } from '#api/dashboard/playground/runs.ts';
import { errorPageAnswer, sendError, sendPage } from '#api/dashboard/guard.ts';
import { dashboardRoutes } from '#api/dashboard/routes.ts';
import { notFoundPage } from '#api/front/not-found-page.ts';
import { receiptInBrowser } from '#api/front/receipt-door.ts';
import { type FrontOptions, frontRoutes } from '#api/front/routes.ts';
import type { InferenceDeps } from '#api/inference/handle.ts';
import { overflowEvents } from '#api/inference/response-events.ts';
import { EVENT_STREAM } from '#api/inference/stream-dialects.ts';
import { healthRoutes, isHealthCheck } from '#api/routes/health.ts';
import { inferenceRoutes } from '#api/routes/inference.ts';
import { keyRoutes, type KeyRoutesOptions } from '#api/routes/keys.ts';
import { ledgerRoutes, type LedgerRoutesOptions } from '#api/routes/ledger.ts';
import { lineageRoutes, type LineageRoutesOptions } from '#api/routes/lineage.ts';
import { messageRoutes } from '#api/routes/messages.ts';
import { methodologyRoutes, type MethodologyRoutesOptions } from '#api/routes/methodologies.ts';
import { modelRoutes, type ModelRoutesOptions } from '#api/routes/models.ts';
import { publicDocumentRoutes, type PublicDocumentsOptions } from '#api/routes/public-documents.ts';
import { recalculationRoutes, type RecalculationRoutesOptions } from '#api/routes/recalculation.ts';
import {
  receiptAddressRoutes,
  receiptRoutes,
  type ReceiptRoutesOptions,
} from '#api/routes/receipts.ts';
import { requestRoutes, type RequestRoutesOptions } from '#api/routes/requests.ts';
import { responseRoutes, type ResponseRoutesOptions } from '#api/routes/responses.ts';
import { usageRoutes, type UsageRoutesOptions } from '#api/routes/usage.ts';
import { verifierRoutes, type VerifierRoutesOptions } from '#api/routes/verifier.ts';

export interface AppOptions {
  bodyBytesMax: number;
  trustedProxies: readonly string[];
  /** Of pages that may call the API from a browser. */
  corsOrigins: readonly string[];
  /** How many connections it has at once. */
  connectionsMax: number;
  newRequestId: () => string;
  events: ApiEvents;
  /** Told of each answer. */
  onAnswered: OnAnswered;
  /** Where a collector is named. */
  traces?: Traces | undefined;
  authenticate: Omit<AuthenticateOptions, 'addresses' | 'organisations' | 'held' | 'supportEmail'>;
  /** The rates of organisations on routes that run nothing. */
  buckets: RatesOptions['buckets'];
  /** The rate of an address that shows no good key, in this process. */
  perAddress: Rate;
  inference: Omit<InferenceDeps, 'unread'>;
  kept: Omit<ResponseRoutesOptions, 'reading'>;
  models: ModelRoutesOptions;
  receipts: ReceiptRoutesOptions;
  recalculation: RecalculationRoutesOptions;
  lineage: LineageRoutesOptions;
  usage: UsageRoutesOptions;
  requests: Omit<RequestRoutesOptions, 'index' | 'usage'>;
  methodologies: MethodologyRoutesOptions;
  ledger: LedgerRoutesOptions;
  anchor: AnchorRoutesOptions;
  exports: ExportRoutesOptions;
  keys: KeyRoutesOptions;
  account: AccountRoutesOptions;
  auditLog: AuditLogRoutesOptions;
  publicDocuments: PublicDocumentsOptions;
  verifier: VerifierRoutesOptions;
  description: DescriptionOptions;
  front: FrontOptions;
  /** None without a secret for its sessions. */
  dashboard?: DashboardDeps | undefined;
}

/** Ids of models may be long, and so may cursors; nothing else in a path is. */
const PARAM_CHARS_MAX = 512;
/** A client that sends its request slower than this holds a socket for nothing. */
const REQUEST_TIMEOUT_MS = 120_000;
/** From the connection, or the first byte of a later request: a client that is slower, or sends none, holds a socket for nothing. */
const HEADERS_TIMEOUT_MS = 10_000;
/** How often the server looks for requests that are late. */
const LATE_LOOK_MS = 5_000;
/** Above the 60 s after which load balancers drop idle connections, so that it is never we who close first. */
const KEEP_ALIVE_MS = 75_000;
/** From where programs on the machine call it, proxies among them. */
const OF_THIS_MACHINE: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

/** Builds the HTTP edge. It never listens: the process does. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { hasDashboard } = options.front;
  const send = (reply: FastifyReply, fault: Fault): FastifyReply => {
    const { id: requestId } = reply.request;
    if (looksForPage(reply.request, fault))
      return sendPage(reply, notFoundPage({ fault, requestId, hasDashboard }), 404);
    const events = overflowEvents(fault, reply.request);
    if (events === undefined) return sendFault(reply, fault);
    return reply.headers({ ...errorHeaders(fault), ...EVENT_STREAM }).send(events);
  };
  const isOfDashboard = ({ url = '' }: { url?: string | undefined }): boolean =>
    options.dashboard !== undefined && /^\/dashboard\b/.test(url);
  const app = Fastify({
    bodyLimit: options.bodyBytesMax,
    genReqId: options.newRequestId,
    requestIdHeader: false,
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // A request on a connection that is open is answered, also while the process stops.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    schemaController: { compilersFactory: { buildSerializer: serialisersOnUse } },
    routerOptions: { maxParamLength: PARAM_CHARS_MAX, ignoreTrailingSlash: true },
    // Node would answer a missing Host without a body; the hook that refuses it gives the envelope.
    http: {
      requireHostHeader: false,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: LATE_LOOK_MS,
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, options.newRequestId),
    // A request that fails before routing passes no hook and no error handler, and Fastify takes its address from no proxy.
    frameworkErrors: (error, request, reply) => {
      void reply.headers(idHeaders(request.id, isOfMessages(request.url)));
      const { raw } = request;
      count({ raw, ip: proxyAddr(raw, isTrusted) }, reply, (fault = faultOf(error)) =>
        isOfDashboard(request) ? sendError(fault, request, reply) : send(reply, fault),
      );
    },
  });
  app.server.maxHeadersCount = HEADERS_MAX + 1;
  const { connectionsMax, trustedProxies, events } = options;
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  const addresses = new Addresses(options.perAddress);
  const held = new HeldRefusals({ trustedProxies, onRefused: events.connectionRefused });
  const count = (
    request: Pick<FastifyRequest, 'ip' | 'raw'>,
    reply: FastifyReply,
    goOn: (refused?: Fault) => void,
  ): void => takeOfAddress({ addresses, held }, request, reply, goOn);
  const drainage = new Drainage();
  const arrivals = new Arrivals();
  const { credentials } = options.authenticate;
  const spans =
    options.traces &&
    new RequestSpans(
      options.traces,
      (request) =>
        ownerOfKey(request, true, credentials)?.orgId ??
        callerNetwork(proxyAddr(request, isTrusted)),
    );
  const isPreflight = answerPreflights(app, options.corsOrigins);
  refuseBeforeRouting(app, {
    addresses,
    trustedProxies,
    isFree: (request) => isHealthCheck(request) || isPreflight(request),
    ownerOf: (request, takesApiKeyHeader) => ownerOfKey(request, takesApiKeyHeader, credentials),
    requests: new RequestsOfCallers(connectionsMax),
    refuse: (request, fault, owner) => {
      const id = options.newRequestId();
      const method = request.method ?? '';
      const { status, code } = fault;
      options.onAnswered(
        {
          requestId: id,
          method,
          route: null,
          status,
          code,
          ...(owner === undefined ? {} : { orgId: owner.orgId, keyId: owner.keyId }),
          address: proxyAddr(request, isTrusted),
          hasReceipt: false,
          isFree: true,
          ms: 0,
        },
        spans?.begin(request) ?? null,
      );
      if (isOfDashboard(request)) {
        const { headers, ...page } = errorPageAnswer(fault, id);
        return { ...page, headers: { ...headers, 'x-request-id': id } };
      }
      events.refused(fault, { id, method });
      return errorAnswer(fault, id, request.url);
    },
    drain: (request, response) => drainage.add(request, response),
    held,
    turns: new Turns(() => arrivals.areTaken()),
  });
  allowOrigins(app, options.corsOrigins);
  boundPieces(app, {
    // Behind a proxy are others, whose bodies are whole; one on this machine may not be named.
    callerOf: (address) =>
      isTrusted(address, 0) || OF_THIS_MACHINE.has(address) ? undefined : callerNetwork(address),
    onMany: (caller) => arrivals.pace(caller),
  });
  readNoFurtherParameters(app);
  boundOpenRequests(app, events.connectionRefused);
  boundConnections(app, { connectionsMax, trustedProxies, onRefused: events.connectionRefused });
  beginInOrder(app.server, arrivals);
  // An unknown expectation may be ignored (RFC 9110, 10.1.1); node would answer without a body.
  app.server.on('checkExpectation', (...exchange) => app.server.emit('request', ...exchange));
  app.decorateRequest('arrivedAt', 0);
  app.decorateRequest('inference', null);
  app.decorateRequest('span', null);
  app.addHook('onRequest', (request, reply, next) => {
    request.arrivedAt = performance.now();
    void reply.headers(idHeaders(request.id, isOfMessages(request.url)));
    next();
  });
  spans?.beginAll(app, isHealthCheck);
  tellOfAnswers(app, options.onAnswered);
  limitAddresses(app, { addresses, held });
  const refusals = new Refusals();
  const { buckets } = options;
  const organisations = new Organisations({ buckets, onError: events.storeFailed }, refusals);
  const { publicUrl, supportEmail } = options.description;
  replyWithError(app, {
    publicUrl,
    count: (request, reply, goOn) => (isOfAddress(request) ? goOn() : count(request, reply, goOn)),
    onInternalError: (error, request) => options.events.failedInside(error, request),
    onStoreAway: options.events.storeFailed,
    onRefusal: (fault, request) => {
      options.events.refused(fault, request);
      refusals.count(fault, request);
    },
    send,
  });
  drainUnreadBodies(app, drainage);
  answerHalfClosedClients(app);
  validateParameters(app);
  await app.register(authenticate, {
    ...options.authenticate,
    addresses,
    organisations,
    held,
    supportEmail,
  });
  organisations.limit(app, held);
  placeOrganisations(app, held);
  placeAddresses(app, held);
  const unread = new UnreadAnswers();
  unread.limit(app);
  await app.register(intake, { bodyBytesMax: options.bodyBytesMax, held });
  parseJsonBodies(app);
  const operations = collectOperations(app);
  const inference = { ...options.inference, unread };
  await app.register(async (v1) => addRoutes(v1, options, inference), { prefix: '/v1' });
  await app.register(healthRoutes);
  await app.register(publicDocumentRoutes, options.publicDocuments);
  await app.register(verifierRoutes, options.verifier);
  await app.register(receiptAddressRoutes, {
    ...options.receipts,
    showInBrowser: receiptInBrowser(options.front),
  });
  await app.register(publicAnchorRoutes, options.anchor);
  await app.register(methodologyRoutes, options.methodologies);
  await app.register(frontRoutes, options.front);
  const { description } = options;
  const guides = madeOnce(async () => guidesOf(readGuideFiles()));
  if (options.dashboard !== undefined) {
    const docs = madeOnce(async () => docsPlaces(operations, description, await guides()));
    await app.register(dashboardRoutes, { ...options.dashboard, docs });
    await app.register(playgroundRuns, { pages: options.dashboard, inference });
  }
  await app.register(docsRoutes, { operations, description, guides, hasDashboard });
  return app;
}

async function addRoutes(
  v1: FastifyInstance,
  options: AppOptions,
  inference: InferenceDeps,
): Promise<void> {
  await v1.register(healthRoutes);
  await v1.register(inferenceRoutes, inference);
  await v1.register(messageRoutes, inference);
  await v1.register(responseRoutes, { ...options.kept, reading: options.inference });
  await v1.register(modelRoutes, options.models);
  await v1.register(receiptRoutes, { ...options.receipts, index: options.models.index });
  await v1.register(recalculationRoutes, options.recalculation);
  await v1.register(lineageRoutes, options.lineage);
  await v1.register(usageRoutes, options.usage);
  await v1.register(requestRoutes, {
    ...options.requests,
    usage: options.usage.usage,
    index: options.models.index,
  });
  await v1.register(methodologyRoutes, options.methodologies);
  await v1.register(ledgerRoutes, options.ledger);
  await v1.register(anchorRoutes, options.anchor);
  await v1.register(exportRoutes, options.exports);
  await v1.register(keyRoutes, options.keys);
  await v1.register(accountRoutes, options.account);
  await v1.register(auditLogRoutes, options.auditLog);
}
