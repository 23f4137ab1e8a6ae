import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import type { IssuedKey, KeyRegistry } from '#shared/keys/postgres/keys.ts';
import {
  describe,
  IssueBody,
  Key,
  NewKey,
  newKey,
  Params,
  ReasonBody,
  requested,
  RotateBody,
} from './key-wire.ts';
import { listOf, Listing, listSchema } from './lists.ts';

const CONFIG = { scope: 'admin:keys' } as const;
const TAGS = ['Keys'];

export interface KeyRoutesOptions {
  keys: KeyRegistry;
  /** Epoch milliseconds. */
  now?: () => number;
}

/** Keys of the caller's organisation. What a key may do to other keys is decided in the domain, not here. */
export const keyRoutes: FastifyPluginAsyncTypebox<KeyRoutesOptions> = async (app, options) => {
  const { keys, now = () => Date.now() } = options;
  await app.register(reading, { keys, now });
  await app.register(granting, { keys, now });
  await app.register(changingState, { keys, now });
};

const reading: FastifyPluginAsyncTypebox<Required<KeyRoutesOptions>> = async (
  app,
  { keys, now },
) => {
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
      const page = await keys.list({ orgId: organisationOf(request), ...request.query });
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
};

const granting: FastifyPluginAsyncTypebox<Required<KeyRoutesOptions>> = async (
  app,
  { keys, now },
) => {
  takeEmptyBodies(app);
  const issued = (reply: FastifyReply, { key, plaintext }: IssuedKey): Static<typeof NewKey> => {
    // No cache between us and the caller may keep a secret.
    void reply.code(201).header('cache-control', 'no-store');
    return newKey(key, plaintext, now());
  };
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
};

const changingState: FastifyPluginAsyncTypebox<Required<KeyRoutesOptions>> = async (
  app,
  { keys, now },
) => {
  takeEmptyBodies(app);
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
        const { reason } = request.body;
        const key = await keys[act](organisationOf(request), id, actorOf(request), reason);
        return describe(key, now());
      },
    );
  }
};

/** The acts on a key have only optional fields, so a request without a body is complete. */
function takeEmptyBodies(app: Pick<FastifyInstance, 'addHook'>): void {
  app.addHook('preValidation', (request, _reply, done) => {
    request.body ??= {};
    done();
  });
}

function organisationOf(request: FastifyRequest): string {
  return request.credential.orgId;
}

function actorOf(request: FastifyRequest): Actor {
  return { kind: 'key', id: request.credential.keyId, address: request.ip };
}
