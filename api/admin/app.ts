import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { describeInterface } from '#api/docs/document.ts';
import { SECURITY_SCHEME } from '#api/docs/describe-operation.ts';
import { collectOperations, exact } from '#api/docs/operation.ts';
import { answerClientError } from '#api/plugins/client-errors.ts';
import { idHeaders } from '#api/plugins/error-envelope.ts';
import { parseJsonBodies } from '#api/plugins/json-bodies.ts';
import { readNoFurtherParameters } from '#api/plugins/parameters.ts';
import { faultOf, HEADERS_MAX, replyWithError, sendFault } from '#api/plugins/reply-with-error.ts';
import { serialisersOnUse } from '#api/plugins/serialisers.ts';
import { validateParameters } from '#api/plugins/validate-parameters.ts';
import { anyObject } from '#api/routes/fields.ts';
import { AllowanceLost } from '#shared/accounts/audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { madeOnce } from '#shared/kernel/made-once.ts';
import { serviceKeyRoutes } from './keys.ts';
import { demandOperators, type OperatorsOptions } from './operators.ts';
import { organisationRoutes, type OrganisationRoutesOptions } from './organisations.ts';
import { openedByOperators, ownInterface, type OwnInterfaceOptions } from './own-interface.ts';
import { regionRoutes, type RegionRoutesOptions } from './regions.ts';
import { anyRequestRoutes } from './requests.ts';
import { reviewRoutes } from './reviews.ts';
import type { RequestRow } from '#shared/requests/row.ts';

/** What was asked at the admin API, for the log: who, and nothing of what they wrote. */
export interface AskedByOperator {
  requestId: string;
  method: string;
  route: string | null;
  status: number;
  /** Null where no key was good. */
  operatorId: string | null;
  key: string | null;
}

export interface AdminAppOptions {
  version: string;
  supportEmail: string;
  newRequestId: () => string;
  onAnswered: (asked: AskedByOperator) => void;
  onInternalError: (error: unknown, request: FastifyRequest) => void;
  onStoreAway: (error: unknown) => void;
  operators: OperatorsOptions;
  organisations: OrganisationRoutesOptions;
  regions: RegionRoutesOptions;
  findRequestRow: (id: string) => Promise<RequestRow | null>;
  own: Omit<OwnInterfaceOptions, 'account'>;
}

/** A self-declaration with many owners; nothing here is larger. */
const BODY_BYTES_MAX = 256 * 1024;
/** Programs of operators are few. */
const CONNECTIONS_MAX = 256;
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const PARAM_CHARS_MAX = 512;

/** Of the admin port, so that no address of it looks like one of the public port. */
const PREFIX = '/admin/v1';

const INTRODUCTION = `What operators do with the command \`docket\`, for programs. A key is issued with \`docket operator-keys issue\`, and acts in the name of the person who has allowed it: the audit log has their id, the key’s name and the address. Below \`${PREFIX}/organisations/{org_id}/\` are the reads and exports of that organisation’s own interface, with the same answers.

Where an act demands a \`reason\`, it is written down with it. Acts are safe to repeat: what is so already changes nothing, or is refused without an effect; an account is opened once for an \`Idempotency-Key\`.`;

/** Builds the admin API. It never listens: the process does, on a port of its own. */
export async function buildAdminApp(options: AdminAppOptions): Promise<FastifyInstance> {
  const { newRequestId, organisations, own } = options;
  const app = Fastify({
    bodyLimit: BODY_BYTES_MAX,
    genReqId: newRequestId,
    requestIdHeader: false,
    // No proxy is believed: what stands in the audit log is who has called.
    trustProxy: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    schemaController: { compilersFactory: { buildSerializer: serialisersOnUse } },
    routerOptions: { maxParamLength: PARAM_CHARS_MAX, ignoreTrailingSlash: true },
    http: { requireHostHeader: false, headersTimeout: HEADERS_TIMEOUT_MS },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, newRequestId),
    // A request that fails before routing passes no hook and no error handler.
    frameworkErrors: (error, request, reply) => {
      void reply.headers({ ...idHeaders(request.id, false), 'cache-control': 'no-store' });
      sendFault(reply, faultOf(error));
    },
  });
  app.server.maxConnections = CONNECTIONS_MAX;
  app.server.maxHeadersCount = HEADERS_MAX + 1;
  readNoFurtherParameters(app);
  app.addHook('onRequest', (request, reply, next) => {
    void reply.headers({ ...idHeaders(request.id, false), 'cache-control': 'no-store' });
    next();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { id: requestId, method, routeOptions, operator, operatorKey: key } = request;
    const operatorId = operator?.id ?? null;
    const route = routeOptions.url ?? null;
    options.onAnswered({ requestId, method, route, status: reply.statusCode, operatorId, key });
    done();
  });
  app.addHook('onRoute', openedByOperators);
  demandOperators(app, options.operators);
  replyWithError(app, {
    publicUrl: '',
    // Every request is counted, these too.
    count: (_request, _reply, goOn) => goOn(),
    onInternalError: options.onInternalError,
    onStoreAway: options.onStoreAway,
    onRefusal() {},
    send: sendFault,
  });
  validateParameters(app);
  parseJsonBodies(app);
  const operations = collectOperations(app);
  const description = madeOnce(() =>
    describeInterface(operations, {
      info: {
        title: 'Docket for operators',
        version: options.version,
        summary: 'The acts of operators, for programs',
        description: INTRODUCTION,
        contact: { email: options.supportEmail },
      },
      servers: [{ url: '/', description: 'This port' }],
      securitySchemes: {
        [SECURITY_SCHEME]: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'dko_ and 43 characters of base64url',
          description: 'An operator key.',
        },
      },
    }),
  );
  await app.register(
    async (admin) => {
      admin.setErrorHandler((error) => {
        throw error instanceof AllowanceLost ? allowanceLost() : error;
      });
      admin.get(
        '/openapi.json',
        {
          config: { scope: 'public' },
          schema: {
            operationId: 'retrieveAdminDescription',
            tag: 'Public',
            summary: 'Read this description',
            description: 'OpenAPI 3.1, made from the schemas that validate.',
            response: {
              200: exact('application/json', 'The description.', anyObject('An OpenAPI document'), {
                description: { openapi: '3.1.1' },
              }),
            },
          },
        },
        async (_request, reply) =>
          reply.type('application/json; charset=utf-8').send(JSON.stringify(await description())),
      );
      await admin.register(organisationRoutes, organisations);
      await admin.register(reviewRoutes, organisations);
      await admin.register(serviceKeyRoutes, own.keys);
      await admin.register(regionRoutes, options.regions);
      await admin.register(anyRequestRoutes, options);
      const account = (orgId: string) => organisations.accounts.get(orgId);
      await admin.register(ownInterface, {
        prefix: '/organisations/:org_id',
        ...own,
        account,
      });
    },
    { prefix: PREFIX },
  );
  return app;
}

/** The person has lost meanwhile what they act by; nothing of the act is done. */
function allowanceLost(): Fault {
  return new Fault('insufficient_scope', {
    message: 'Nothing was done: the person whose key this is may not act any more.',
  });
}
