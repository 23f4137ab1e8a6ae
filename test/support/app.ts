import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { Pool } from 'pg';
import { Registry } from 'prom-client';
import { type AppOptions, buildApp } from '#api/app.ts';
import { apiEvents } from '#api/events.ts';
import { openResources } from '#api/routes/deps.ts';
import { primaryAlone } from '#shared/kernel/postgres/replica.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import type { Scope } from '#shared/keys/credential.ts';
import { contextDocument } from '#shared/packs/files/contexts.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { readDerivations } from '#shared/receipts/postgres/derivations.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { TestCredentials } from './credentials.ts';
import { atFileEnd } from './file-end.ts';

const PUBLIC_URL = 'https://gateway.example';

/** A database that is not there, for answers that are given without one: a statement fails. */
export const NO_DATABASE = new Pool({ host: '/no/such/directory' });

export interface TestAppParts extends Partial<AppOptions> {
  surroundings?: Surroundings;
  /** None is pending when absent. */
  pendingReceipts?: Pick<PendingReceipts, 'isPending'>;
}

/**
 * The HTTP edge as `api/app.ts` builds it, over a test's database: every route, hook and error path of the product. It
 * knows no keys, has no pipeline behind its models and keeps no packs, unless the test gives it these parts.
 */
export async function buildTestApp(
  pool: Pool,
  {
    surroundings = systemSurroundings,
    pendingReceipts = { isPending: () => Promise.resolve(false) },
    ...parts
  }: TestAppParts = {},
): Promise<FastifyInstance> {
  const app = await buildApp({
    bodyBytesMax: 1_048_576,
    trustedProxies: [],
    corsOrigins: [],
    connectionsMax: 16_384,
    newRequestId: () => newId('req'),
    events: apiEvents(pino({ level: 'silent' }), new Registry()),
    onAnswered() {},
    authenticate: {
      credentials: { lookup: () => null, ownerOf: () => undefined },
      keyUse: { used() {} },
    },
    buckets: {
      take: async () => ({ perSecond: 1, remaining: 1, resetMs: 0, waitMs: 0 }),
      look: async () => ({ perSecond: 1, remaining: 1, resetMs: 0, remainingToday: 1 }),
    },
    perAddress: { requestsPerSecond: 1_000_000, burst: 1_000_000 },
    inference: {} as AppOptions['inference'],
    kept: {
      kept: {
        read: async (_orgId, _id, work) => work(null),
        conversation: async (_name, work) => work(null),
        drop: () => Promise.resolve(false),
      },
    },
    models: {
      index: () => ({ models: new Map(), byName: new Map(), regions: new Map(), currency: null }),
      confidenceOf() {},
    },
    ...openResources(
      { pool, reads: primaryAlone(pool) },
      receiptIssuer(PUBLIC_URL),
      pendingReceipts,
      surroundings,
    ),
    exports: {
      exports: createExportRegistry(pool, surroundings),
      store: { read: async () => null, delete: async () => {} },
      start() {},
      keptDays: 7,
      onStoreError() {},
    },
    verifier: { files: async () => new Map() },
    publicDocuments: {
      didDocument: () => ({}),
      jwks: () => ({ keys: [] }),
      verifierKeys: () => ({ keys: [] }),
      derivation: async (digest: string) => (await readDerivations(pool, [digest])).get(digest),
      context: contextDocument,
    },
    front: {
      publicUrl: PUBLIC_URL,
      supportEmail: 'support@docket.example',
      exampleModel: () => 'a-model',
      hasDashboard: parts.dashboard !== undefined,
      status: {
        now: async () => ({ at: 0, regions: [], ledger: 'normal' }),
        history: async () => ({ days: [], incidents: [] }),
      },
    },
    description: {
      publicUrl: PUBLIC_URL,
      supportEmail: 'support@docket.example',
      bodyBytesMax: 1_048_576,
      packsKeptDays: 7,
      version: '0',
    },
    ...parts,
  });
  atFileEnd(() => app.close());
  return app;
}

/** An answer, to be looked at as bytes, text or JSON. */
export interface EdgeAnswer {
  status: number;
  headers: Record<string, unknown>;
  bytes: Buffer;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked at field by field
  json(): any;
}

export interface Edge {
  app: FastifyInstance;
  ask(method: 'GET' | 'POST', url: string, key: string | null): Promise<EdgeAnswer>;
  /** Reads what stands below `/v1`; without a key when it is null. */
  get(path: string, key: string | null): Promise<EdgeAnswer>;
  /** A key of this organisation, with `service:read` unless other scopes are named. */
  keyFor(orgId: string, scopes?: readonly Scope[]): string;
}

/** The HTTP edge with keys that exist in this process alone. */
export async function openEdge(pool: Pool, parts: TestAppParts = {}): Promise<Edge> {
  const credentials = new TestCredentials();
  const app = await buildTestApp(pool, {
    authenticate: { credentials, keyUse: { used() {} } },
    ...parts,
  });
  const ask: Edge['ask'] = async (method, url, key) => {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const reply = await app.inject({ method, url, headers });
    return {
      status: reply.statusCode,
      headers: reply.headers,
      bytes: reply.rawPayload,
      text: reply.payload,
      json: () => reply.json<unknown>(),
    };
  };
  return {
    app,
    ask,
    get: (path, key) => ask('GET', `/v1${path}`, key),
    keyFor: (orgId, scopes = ['service:read']) => credentials.issue(orgId, scopes),
  };
}
