import type { IncomingMessage } from 'node:http';
import type {
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  RouteOptions,
} from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { SCOPES, type Credential, type Scope } from '#shared/keys/credential.ts';
import { authorize, invalidApiKey } from '#shared/keys/authorize.ts';
import { KEY_LENGTH } from '#shared/keys/format.ts';
import { callerNetwork } from './caller-network.ts';
import type { HeldRefusals } from './held-refusals.ts';
import { type Addresses, type Organisations, refusal } from './rates.ts';

/**
 * What a route requires: a scope; `any` valid key; `session`, where the dashboard signs people in by
 * itself; `operator`, an operator key, at the admin API alone; or `public`, for what the whole world may read.
 */
export type RouteScope = Scope | 'any' | 'session' | 'operator' | 'public';

declare module 'fastify' {
  interface FastifyContextConfig {
    scope?: RouteScope;
    /** A key may stand in `x-api-key` as well, where Anthropic's clients have it. */
    takesApiKeyHeader?: boolean;
    /** Finds the credential of a request that shows no key: of a page, whose person is signed in. */
    credentialOf?: (request: FastifyRequest) => Promise<Credential | null>;
  }
  interface FastifyRequest {
    /** The caller. Set on every route whose scope is not `public` or `session`. */
    credential: Credential;
    /** In whose name a program acts at the admin API; null everywhere else. */
    operator: Actor | null;
    /**
     * Looks the credential up anew, for what a request does long after its headers came: it may have been revoked
     * meanwhile. Sets `credential`; throws or rejects as the first check does.
     */
    authenticateAgain(): Credential | Promise<Credential>;
  }
}

export type KeyOwner = Pick<Credential, 'keyId' | 'orgId' | 'scopes'>;

export interface AuthenticateOptions {
  credentials: {
    /** `mayRead` is asked before PostgreSQL is, for a key that is not in memory; it throws where it may not be. */
    lookup(token: string, mayRead?: () => void): Credential | null | Promise<Credential | null>;
    /** Whose key a token is and what it may, where it is in memory and works now. */
    ownerOf(token: string): KeyOwner | undefined;
  };
  keyUse: { used(keyId: string, now: number): void };
  /** Where the caller of a suspended account is sent. */
  supportEmail: string;
  /** Counts requests that are refused for their key; says in how many milliseconds the next is taken. */
  addresses: Pick<Addresses, 'take' | 'waitOf'>;
  /** Counts those too whose key is good and may not do what it asks. */
  organisations: Pick<Organisations, 'takeForbidden'>;
  /** Has each of those wait that were refused for being too many. */
  held: Pick<HeldRefusals, 'give'>;
  /** Epoch milliseconds. */
  now?: () => number;
}

const ROUTE_SCOPES: ReadonlySet<string> = new Set([...SCOPES, 'any', 'session', 'public']);
const BEARER = new RegExp(`^Bearer ([0-9A-Za-z_]{${KEY_LENGTH}})$`, 'i');
const KEY = new RegExp(`^[0-9A-Za-z_]{${KEY_LENGTH}}$`);

/**
 * Demands a key with the route's scope before anything else of a request is looked at. Register it
 * before any route: a route that does not declare `config.scope` stops the start.
 */
export const authenticate: FastifyPluginCallback<AuthenticateOptions> = (app, options, done) => {
  app.decorateRequest('credential', null as unknown as Credential);
  app.decorateRequest('operator', null);
  app.addHook('onRoute', requireScope);
  addAuthentication(app, options);
  done();
};
// The hooks are meant for the routes beside this plugin, not only for those within it.
Object.defineProperty(authenticate, Symbol.for('skip-override'), { value: true });

function requireScope(route: RouteOptions): void {
  const scope = route.config?.scope;
  if (scope === undefined || !ROUTE_SCOPES.has(scope)) {
    throw new Error(`The route ${String(route.method)} ${route.url} does not declare its scope.`);
  }
}

function addAuthentication(app: FastifyInstance, options: AuthenticateOptions): void {
  const { credentials, keyUse, supportEmail } = options;
  const now = options.now ?? (() => Date.now());

  const admit = (
    request: FastifyRequest,
    credential: Credential | null,
    required: Scope | 'any',
  ): Credential => {
    if (credential === null) throw invalidApiKey();
    const at = now();
    try {
      authorize(credential, required, { now: at, supportEmail });
    } catch (error) {
      // The key is good: its caller is told where it stands, and what is refused counts as its.
      if (error instanceof Fault && error.status === 403) request.credential = credential;
      throw error;
    }
    keyUse.used(credential.keyId, at);
    request.credential = credential;
    return credential;
  };

  /**
   * What is refused here comes to no other limit. It counts for its address with any fault of the key: one that was
   * revoked may have been published. What a good key may not do counts for its organisation too.
   */
  const counted = async (
    request: FastifyRequest,
    reply: FastifyReply,
    thrown: unknown,
  ): Promise<Error> => {
    const error = asError(thrown);
    if (!(error instanceof Fault) || (error.status !== 401 && error.status !== 403)) return error;
    let refused = refusal(options.addresses.take(request.ip));
    // Where its key was not found yet, no organisation is known that it could count for.
    const isKnown = (request.credential as Credential | null) !== null;
    if (error.status === 403 && isKnown)
      refused ??= await options.organisations.takeForbidden(request, reply);
    if (refused === undefined) return error;
    const { credential, ip, raw } = request;
    const caller = credential === null ? callerNetwork(ip) : credential.orgId;
    const exchange = { request: raw, response: reply.raw };
    const heldMs = await new Promise<number>((resolve) =>
      options.held.give(caller, exchange, resolve),
    );
    return refused(heldMs);
  };
  /** An address that has tried too many keys already has none looked up that was not used here before. */
  const mayRead = (request: FastifyRequest): void => {
    const refused = refusal(options.addresses.waitOf(request.ip));
    if (refused !== undefined) throw refused(0);
  };
  const check = (request: FastifyRequest, required: Scope | 'any') => {
    const { credentialOf } = request.routeOptions.config;
    const found =
      credentialOf === undefined
        ? credentials.lookup(tokenOf(request), () => mayRead(request))
        : credentialOf(request);
    return found instanceof Promise
      ? found.then((credential) => admit(request, credential, required))
      : admit(request, found, required);
  };
  app.decorateRequest('authenticateAgain', function (this: FastifyRequest) {
    const { scope } = this.routeOptions.config;
    if (!isKeyed(scope)) throw new Error('a route without credentials asks for them');
    return check(this, scope);
  });

  // Callback style: a key in memory is checked without a promise.
  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, next) => {
    const scope = request.routeOptions.config.scope;
    // A path that is no route has nothing to protect, and `is404` routes have no scope.
    if (request.is404 || scope === 'public' || scope === 'session') return next();
    try {
      if (!isKeyed(scope)) throw new Error('a route without a scope was reached');
      settle(check(request, scope), next, (error) => counted(request, reply, error));
    } catch (error) {
      counted(request, reply, error).then(next, next);
    }
  });

  // A body may take minutes to come. Inference looks again by itself, at admission.
  app.addHook('preHandler', (request: FastifyRequest, _reply: FastifyReply, next) => {
    const { scope } = request.routeOptions.config;
    if (request.body === undefined || !isKeyed(scope) || scope === 'inference:write') return next();
    try {
      settle(check(request, scope), next);
    } catch (error) {
      next(asError(error));
    }
  });
}

function isKeyed(scope: RouteScope | undefined): scope is Scope | 'any' {
  return scope !== undefined && scope !== 'public' && scope !== 'session' && scope !== 'operator';
}

function settle(
  checked: Credential | Promise<Credential>,
  next: (error?: Error) => void,
  errorOf: (thrown: unknown) => Error | Promise<Error> = asError,
): void {
  if (!(checked instanceof Promise)) return next();
  // An error of `errorOf` itself is answered too: nothing else would hear of it, and the process would end.
  checked.then(() => undefined, errorOf).then(next, next);
}

/** The caller's key, or the operator in whose name a program acts, as the audit log names who acted. */
export function actorOf({ credential, ip, operator }: FastifyRequest): Actor {
  return operator ?? { kind: 'key', id: credential.keyId, address: ip };
}

/**
 * The token of `Authorization: Bearer <token>`, or of `x-api-key` where the route takes that; two that differ are none.
 * Anything else, one space too many included, is refused.
 */
function tokenOf({ headers, routeOptions: { config } }: FastifyRequest): string {
  // Programs send a header empty whose variable is not set.
  const { authorization: given = '' } = headers;
  const authorization = EMPTY.test(given) ? undefined : given;
  const other = config.takesApiKeyHeader === true ? headers['x-api-key'] || undefined : undefined;
  const token = authorization === undefined ? keyIn(other) : bearerOf(authorization);
  if (token === undefined || (other !== undefined && other !== token)) throw invalidApiKey();
  return token;
}

/** Without a token behind it: Node takes the space away. */
const EMPTY = /^(?:Bearer)?\s*$/i;

function keyIn(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && KEY.test(header) ? header : undefined;
}

function bearerOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1];
}

/** Whose key a request shows that is in memory and works now; no store is asked. */
export function ownerOfKey(
  { headers }: Pick<IncomingMessage, 'headers'>,
  takesApiKeyHeader: boolean,
  credentials: Pick<AuthenticateOptions['credentials'], 'ownerOf'>,
): KeyOwner | undefined {
  const token =
    bearerOf(headers.authorization) ??
    (takesApiKeyHeader ? keyIn(headers['x-api-key']) : undefined);
  return token === undefined ? undefined : credentials.ownerOf(token);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('authentication failed', { cause: error });
}
