import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll } from 'vitest';
import { authenticate } from '#api/plugins/authenticate.ts';
import { replyWithError } from '#api/plugins/reply-with-error.ts';
import { validateParameters } from '#api/plugins/validate-parameters.ts';
import type { Scope } from '#shared/keys/credential.ts';
import { TestCredentials } from './credentials.ts';

/** An answer of the ledger's routes. */
export interface LedgerAnswer {
  status: number;
  headers: Record<string, unknown>;
  bytes: Buffer;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked at field by field
  json(): any;
}

export interface LedgerEdge {
  /** Asks below `/v1`; `key` is what `keyFor` gave, or null for a request without one. */
  get(path: string, key: string | null): Promise<LedgerAnswer>;
  /** The same, for a request without a body. */
  post(path: string, key: string | null): Promise<LedgerAnswer>;
  /** A key of this organisation, with the scope that the ledger needs unless others are named. */
  keyFor(orgId: string, scopes?: readonly Scope[]): string;
}

/** The HTTP edge with the routes under test and keys that exist in this process alone. */
export async function createLedgerEdge(
  addRoutes: (v1: FastifyInstance) => Promise<void>,
): Promise<LedgerEdge> {
  const credentials = new TestCredentials();
  const app = Fastify();
  afterAll(() => app.close());
  replyWithError(app, { onInternalError() {}, onRefusal() {} });
  validateParameters(app);
  await app.register(authenticate, {
    credentials,
    keyUse: { used() {} },
  });
  await app.register(addRoutes, { prefix: '/v1' });
  const ask = async (method: 'GET' | 'POST', path: string, key: string | null) => {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const reply = await app.inject({ method, url: `/v1${path}`, headers });
    return {
      status: reply.statusCode,
      headers: reply.headers,
      bytes: reply.rawPayload,
      text: reply.payload,
      json: () => reply.json<unknown>(),
    };
  };
  return {
    get: (path, key) => ask('GET', path, key),
    post: (path, key) => ask('POST', path, key),
    keyFor: (orgId, scopes = ['service:read']) => credentials.issue(orgId, scopes),
  };
}
