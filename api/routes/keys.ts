import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type, type Static } from 'typebox';
import type { Actor } from '../../shared/domain/audit/entry.ts';
import { REASON_LENGTH_MAX } from '../../shared/domain/audit/entry.ts';
import { SCOPES } from '../../shared/domain/credential.ts';
import { Fault } from '../../shared/domain/errors.ts';
import { describeKey } from '../../shared/domain/keys/describe.ts';
import type { KeyRequest } from '../../shared/domain/keys/rules.ts';
import type { IssuedKey, KeyRegistry } from '../../shared/ports/keys.ts';
import { listOf, Listing, listSchema } from './lists.ts';

/** A burst that is not named is four seconds' worth, as in the plans. */
const BURST_PER_REQUEST = 4;

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);
const Time = Type.String({ description: 'RFC 3339, UTC' });

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
  restorable_until: Nullable(Time),
  last_used_at: Nullable(Time),
};
const Key = Type.Object(keyFields, { title: 'ApiKey' });
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
const ReasonBody = Type.Object(
  { reason: Type.Optional(Type.String({ maxLength: REASON_LENGTH_MAX })) },
  { additionalProperties: false },
);
const Params = Type.Object({ id: Type.String({ maxLength: 64 }) });

const CONFIG = { scope: 'admin:keys' } as const;
const TAGS = ['Keys'];

export interface KeyRoutesOptions {
  keys: KeyRegistry;
  /** Epoch milliseconds. */
  now?: () => number;
}

/** Keys of the caller's organisation. What a key may do to other keys is decided in the domain, not here. */
export const keyRoutes: FastifyPluginAsyncTypebox<KeyRoutesOptions> = async (app, options) => {
  const { keys } = options;
  const now = options.now ?? (() => Date.now());
  const issued = (reply: FastifyReply, { key, plaintext }: IssuedKey): Static<typeof NewKey> => {
    // No cache between us and the caller may keep a secret.
    void reply.code(201).header('cache-control', 'no-store');
    return newKey(key, plaintext, now());
  };

  // The acts on a key have only optional fields, so a request without a body is complete.
  app.addHook('preValidation', (request, _reply, done) => {
    request.body ??= {};
    done();
  });

  app.post(
    '/keys',
    {
      config: CONFIG,
      schema: { tags: TAGS, summary: 'Issue a key', body: IssueBody, response: { 201: NewKey } },
    },
    async (request, reply) => {
      const { name } = request.body;
      const grant = { ...requested(request.body), name };
      return issued(reply, await keys.issue(organisationOf(request), grant, actorOf(request)));
    },
  );
  app.get(
    '/keys',
    {
      config: CONFIG,
      schema: {
        tags: TAGS,
        summary: 'List keys',
        querystring: Listing,
        response: { 200: listSchema(Key) },
      },
    },
    async (request) => {
      const page = await keys.list({ organisationId: organisationOf(request), ...request.query });
      return listOf({ ...page, items: page.items.map((key) => describe(key, now())) });
    },
  );
  app.get(
    '/keys/:id',
    {
      config: CONFIG,
      schema: { tags: TAGS, summary: 'One key', params: Params, response: { 200: Key } },
    },
    async (request) => describe(await keys.get(organisationOf(request), request.params.id), now()),
  );
  app.post(
    '/keys/:id/rotate',
    {
      config: CONFIG,
      schema: {
        tags: TAGS,
        summary: 'Issue a successor',
        params: Params,
        body: RotateBody,
        response: { 201: NewKey },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const grant = requested(request.body);
      return issued(reply, await keys.rotate(organisationOf(request), id, grant, actorOf(request)));
    },
  );
  for (const act of ['revoke', 'restore'] as const) {
    app.post(
      `/keys/:id/${act}`,
      {
        config: CONFIG,
        schema: {
          tags: TAGS,
          summary: act === 'revoke' ? 'Revoke a key' : 'Undo a revocation',
          params: Params,
          body: ReasonBody,
          response: { 200: Key },
        },
      },
      async (request) => {
        const { id } = request.params;
        const reason = request.body.reason;
        const key = await keys[act](organisationOf(request), id, actorOf(request), reason);
        return describe(key, now());
      },
    );
  }
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
            burst: limit.burst ?? limit.requests_per_second * BURST_PER_REQUEST,
          },
        }),
  };
}

/** RFC 3339 only: what else `Date.parse` takes depends on the machine. */
function parseExpiry(text: string | null): number | null {
  if (text === null) return null;
  const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/i;
  const time = rfc3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new Fault('invalid_expiry', 'The expiry must be a time as in RFC 3339.', {
      param: 'expires_at',
    });
  }
  return time;
}

function describe(key: Parameters<typeof describeKey>[0], now: number): Static<typeof Key> {
  const description = describeKey(key, now);
  return { ...description, scopes: [...description.scopes] };
}

function newKey(
  key: Parameters<typeof describeKey>[0],
  plaintext: string,
  now: number,
): Static<typeof NewKey> {
  return { ...describe(key, now), key: plaintext };
}

function organisationOf(request: FastifyRequest): string {
  return request.credential.organisationId;
}

function actorOf(request: FastifyRequest): Actor {
  return { kind: 'key', id: request.credential.keyId, address: request.ip };
}
