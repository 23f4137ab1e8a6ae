import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
import { json, jsonBody } from '#api/docs/operation.ts';
import { actorOf } from '#api/plugins/authenticate.ts';
import { REASON_LENGTH_MAX } from '#shared/accounts/audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { parseTime } from '#shared/kernel/time.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { describeKey } from '#shared/keys/describe.ts';
import type { IssuedKey, KeyRegistry } from '#shared/keys/postgres/keys.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import type { KeyRequest } from '#shared/keys/rules.ts';
import { Nullable, pathId, Time } from './fields.ts';
import { listOf, Listing, listSchema } from './lists.ts';

const RateLimit = Type.Object(
  {
    requests_per_second: Type.Integer({ minimum: 1 }),
    burst: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
);

const keyFields = {
  object: Type.Literal('api_key'),
  id: Type.String(),
  name: Type.String(),
  display: Type.String({ description: 'First 8 and last 4 characters' }),
  state: Type.Union([Type.Literal('active'), Type.Literal('revoked'), Type.Literal('expired')]),
  scopes: Type.Array(Type.String({ enum: [...SCOPES] })),
  rate_limit: Nullable(Type.Object({ requests_per_second: Type.Integer(), burst: Type.Integer() })),
  lineage_id: Type.String({ description: 'Shared by a key and its rotation successors' }),
  predecessor_id: Nullable(Type.String()),
  created_at: Time,
  expires_at: Nullable(Time),
  revoked_at: Nullable(Time),
  leaked: Type.Boolean({
    description: 'Others have it, or may have: only support or an operator restores it',
  }),
  restorable_until: Nullable(Time),
  last_used_at: Nullable(Time),
  rotation_due_at: Nullable(
    Type.String({ description: 'A year after its creation: rotation is recommended by then' }),
  ),
};
export const Key = Type.Object(keyFields, { title: 'ApiKey' });
const NewKey = Type.Object(
  { ...keyFields, key: Type.String({ description: 'The secret, shown this one time' }) },
  { title: 'IssuedApiKey' },
);

const IssueBody = Type.Object(
  {
    name: Type.String(),
    scopes: Type.Optional(Type.Array(Type.String(), { maxItems: 32 })),
    expires_at: Type.Optional(Nullable(Type.String())),
    rate_limit: Type.Optional(Nullable(RateLimit)),
  },
  { additionalProperties: false },
);
const RotateBody = Type.Object(
  {
    scopes: Type.Optional(Type.Array(Type.String(), { maxItems: 32 })),
    expires_at: Type.Optional(Nullable(Type.String())),
  },
  { additionalProperties: false },
);

// A revocation is not refused for its words: what no database can hold is dropped where they are recorded.
const ReasonBody = Type.Object(
  {
    reason: Type.Optional(Type.String({ maxLength: REASON_LENGTH_MAX })),
  },
  { additionalProperties: false },
);

const RevokeBody = Type.Object(
  {
    ...ReasonBody.properties,
    leaked: Type.Optional(
      Type.Boolean({
        description: 'Others have the key, or may have: only support or an operator restores it.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const KEY_ID = 'key_01JD0A9F6R4N8P1S5VZC7B2DEG';
const Params = pathId('Id of the key', KEY_ID);

export const KEY: Static<typeof Key> = {
  object: 'api_key',
  id: KEY_ID,
  name: 'Nightly batch',
  display: 'dkt_AbCd…wxyz',
  state: 'active',
  scopes: ['inference:read', 'inference:write', 'service:read'],
  rate_limit: { requests_per_second: 20, burst: 80 },
  lineage_id: KEY_ID,
  predecessor_id: null,
  created_at: '2026-11-01T08:00:00.000Z',
  expires_at: '2027-11-01T08:00:00.000Z',
  revoked_at: null,
  leaked: false,
  restorable_until: null,
  last_used_at: '2026-11-20T09:38:05.595Z',
  rotation_due_at: '2027-11-01T08:00:00.000Z',
};
export const REVOKED: Static<typeof Key> = {
  ...KEY,
  state: 'revoked',
  rotation_due_at: null,
  revoked_at: '2026-11-20T10:00:00.000Z',
  restorable_until: '2027-02-18T10:00:00.000Z',
};
const SECRET = 'dkt_AbCdEfGhIjKlMnOpQrStUvWxYz012345wxyz';
const SUCCESSOR: Static<typeof Key> = {
  ...KEY,
  id: 'key_01JD4ZB7W2N6R0M4S8XHC3D9EP',
  predecessor_id: KEY_ID,
  last_used_at: null,
};

const CONFIG = { scope: 'admin:keys' } as const;

export interface KeyRoutesOptions {
  keys: KeyRegistry;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Keys of the caller's organisation. The rules of keys say what one key may do to another. */
export const keyRoutes: FastifyPluginAsyncTypebox<KeyRoutesOptions> = async (app, options) => {
  await app.register(keyReadingRoutes, options);
  await app.register(grantingRoutes, options);
  await app.register(stateRoutes, options);
};

/** Keys as they are read. */
export const keyReadingRoutes: FastifyPluginAsyncTypebox<KeyRoutesOptions> = async (
  app,
  { keys, now },
) => {
  app.get(
    '/keys',
    {
      config: CONFIG,
      schema: {
        operationId: 'listKeys',
        tag: 'Keys',
        summary: 'List keys',
        description: 'The keys of your organisation. `last_used_at` shows where traffic is.',
        querystring: Listing,
        response: {
          200: json('A page.', listSchema(Key), { page: listOf({ items: [KEY], hasMore: false }) }),
        },
        errors: ['invalid_limit', 'invalid_after'],
      },
    },
    async (request) => {
      const page = await keys.list({ orgId: request.credential.orgId, ...request.query });
      return listOf({ ...page, items: page.items.map((key) => describeForApi(key, now())) });
    },
  );
  app.get(
    '/keys/:id',
    {
      config: CONFIG,
      schema: {
        operationId: 'retrieveKey',
        tag: 'Keys',
        summary: 'Read a key',
        description: 'One key, without its secret.',
        params: Params,
        response: { 200: json('The key.', Key, { key: KEY }) },
        errors: ['key_not_found'],
      },
    },
    async (request) => {
      const key = await keys.get(request.credential.orgId, request.params.id);
      // It is no key that a program could use, and is not listed either.
      if (key.playgroundOf !== null) throw new Fault('key_not_found');
      return describeForApi(key, now());
    },
  );
};

const grantingRoutes: FastifyPluginAsyncTypebox<KeyRoutesOptions> = async (app, { keys, now }) => {
  const issued = (reply: FastifyReply, { key, plaintext }: IssuedKey): Static<typeof NewKey> => {
    // No cache between us and the caller may keep a secret.
    void reply.code(201).header('cache-control', 'no-store');
    return { ...describeForApi(key, now()), key: plaintext };
  };
  app.post(
    '/keys',
    {
      config: CONFIG,
      schema: {
        operationId: 'issueKey',
        tag: 'Keys',
        summary: 'Issue a key',
        description:
          'The secret is in this answer and nowhere else: only its hash is kept. Scopes default to `inference:read`, `inference:write` and `service:read`. A key cannot grant `admin:keys`, nor a scope beyond the plan. Only keys of Audit Plus and Enterprise may expire.',
        bodyOptional: true,
        ...jsonBody(IssueBody, {
          'with the default scopes': { name: 'Nightly batch' },
          'with its own limits': {
            name: 'Nightly batch',
            scopes: ['inference:write', 'service:lineage'],
            expires_at: '2027-11-01T08:00:00Z',
            rate_limit: { requests_per_second: 20, burst: 80 },
          },
        }),
        response: {
          201: json('The key, with its secret.', NewKey, { key: { ...KEY, key: SECRET } }),
        },
        errors: [
          'invalid_key',
          'invalid_name',
          'invalid_scope',
          'invalid_expiry',
          'invalid_rate_limit',
        ],
      },
    },
    async (request, reply) => {
      const grant = { ...requested(request.body), name: request.body.name };
      return issued(reply, await keys.issue(request.credential.orgId, grant, actorOf(request)));
    },
  );
  app.post(
    '/keys/:id/rotate',
    {
      config: CONFIG,
      schema: {
        operationId: 'rotateKey',
        tag: 'Keys',
        summary: 'Issue a successor',
        description:
          'A new key with the scopes, limits and lineage of the old one, unless others are named. The old key stays active until it is revoked: deploy the successor, see traffic on it, then revoke.',
        params: Params,
        bodyOptional: true,
        ...jsonBody(RotateBody, { 'with another expiry': { expires_at: '2028-11-01T08:00:00Z' } }),
        response: {
          201: json('The successor, with its secret.', NewKey, {
            key: { ...SUCCESSOR, key: SECRET },
          }),
        },
        errors: [
          'key_not_found',
          'key_state_conflict',
          'invalid_key',
          'invalid_scope',
          'invalid_expiry',
          'invalid_rate_limit',
        ],
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const grant = requested(request.body);
      const { orgId } = request.credential;
      return issued(reply, await keys.rotate(orgId, id, grant, actorOf(request)));
    },
  );
};

const stateRoutes: FastifyPluginAsyncTypebox<KeyRoutesOptions> = async (app, { keys, now }) => {
  app.post(
    '/keys/:id/revoke',
    {
      config: { ...CONFIG, bucket: 'revocations' },
      schema: {
        operationId: 'revokeKey',
        tag: 'Keys',
        summary: 'Revoke a key',
        description:
          'Requests with the key fail with `revoked_api_key` everywhere within a second. It can be undone until `restorable_until`, for 90 days at most; then the hashed record is deleted. A key cannot revoke itself. With `leaked`, only support or an operator can restore it; a key that is revoked or expired already is then marked as leaked.',
        params: Params,
        bodyOptional: true,
        ...jsonBody(RevokeBody, {
          'with a reason': { reason: 'Not used any more' },
          'of a key that leaked': { reason: 'Found in a build log', leaked: true },
        }),
        response: { 200: json('The revoked key.', Key, { key: REVOKED }) },
        errors: ['key_not_found', 'key_state_conflict', 'invalid_key', 'invalid_reason'],
      },
    },
    async (request) => {
      const { credential, params, body } = request;
      const key = await keys.revoke(credential.orgId, params.id, actorOf(request), body);
      return describeForApi(key, now());
    },
  );
  app.post(
    '/keys/:id/restore',
    {
      config: CONFIG,
      schema: {
        operationId: 'restoreKey',
        tag: 'Keys',
        summary: 'Undo a revocation',
        description:
          'Within 90 days of the revocation. The key works again at once. One that `leaked` is restored by support only.',
        params: Params,
        bodyOptional: true,
        ...jsonBody(ReasonBody, { 'with a reason': { reason: 'Revoked by mistake' } }),
        response: { 200: json('The key, active again.', Key, { key: KEY }) },
        errors: ['key_not_found', 'key_state_conflict', 'invalid_reason'],
      },
    },
    async (request) => {
      const { credential, params, body } = request;
      const key = await keys.restore(credential.orgId, params.id, actorOf(request), body.reason);
      return describeForApi(key, now());
    },
  );
};

/** The wire's names and units into the domain's; what the values may be is the domain's to say. */
function requested(
  body: Partial<Static<typeof IssueBody>>,
): Pick<KeyRequest, 'scopes' | 'expiresAt' | 'limit'> {
  const limit = body.rate_limit ?? null;
  return {
    ...(body.scopes === undefined ? {} : { scopes: body.scopes }),
    expiresAt: parseExpiry(body.expires_at ?? null),
    ...(limit === null
      ? {}
      : {
          limit: {
            requestsPerSecond: limit.requests_per_second,
            ...(limit.burst === undefined ? {} : { burst: limit.burst }),
          },
        }),
  };
}

function parseExpiry(text: string | null): number | null {
  if (text === null) return null;
  const time = parseTime(text);
  if (time === undefined) {
    throw new Fault('invalid_expiry', { message: 'The expiry must be a time as in RFC 3339.' });
  }
  return time;
}

export function describeForApi(key: KeyRecord, now: number): Static<typeof Key> {
  const description = describeKey(key, now);
  return { ...description, scopes: [...description.scopes] };
}
