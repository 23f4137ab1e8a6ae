import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { json, jsonBody } from '#api/docs/operation.ts';
import { lineOfText, pathId } from '#api/routes/fields.ts';
import { describeForApi, Key, KEY, KEY_ID, REVOKED } from '#api/routes/keys.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { hashOfReport } from '#shared/keys/format.ts';
import type { KeyRegistry } from '#shared/keys/postgres/keys.ts';
import { OPERATOR, operatorOf, REASONED, ReasonBody } from './fields.ts';

const Params = pathId('Id of the key', KEY_ID);
const RevokeBody = Type.Object(
  {
    ...REASONED,
    leaked: Type.Optional(
      Type.Boolean({ description: 'Others have it, or may have: its organisation gets an e-mail' }),
    ),
  },
  { additionalProperties: false },
);
/** The longest line that can hold a key or its hash, with what editors put around it. */
const REPORT_LENGTH_MAX = 1_024;
const LeakedBody = Type.Object(
  {
    key: lineOfText(REPORT_LENGTH_MAX, 'The key that was found, or its SHA-256 in hexadecimal'),
    ...REASONED,
  },
  { additionalProperties: false },
);

export interface KeysOptions {
  keys: KeyRegistry;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Keys of any organisation: what support does when it is asked. */
export const serviceKeyRoutes: FastifyPluginAsyncTypebox<KeysOptions> = async (
  app,
  { keys, now },
) => {
  app.get(
    '/keys/:id',
    {
      config: OPERATOR,
      schema: {
        operationId: 'retrieveAnyKey',
        tag: 'Keys',
        summary: 'Read a key of any organisation',
        description: 'Without its secret.',
        params: Params,
        response: { 200: json('The key.', Key, { key: KEY }) },
        errors: ['key_not_found'],
      },
    },
    async ({ params }) => describeForApi(await keys.find(params.id), now()),
  );
  app.post(
    '/keys/:id/revoke',
    {
      config: OPERATOR,
      schema: {
        operationId: 'revokeAnyKey',
        tag: 'Keys',
        summary: 'Revoke a key',
        description: 'It is refused everywhere within a second. What is so already is refused.',
        params: Params,
        ...jsonBody(RevokeBody, { 'That leaked': { reason: 'In a build log', leaked: true } }),
        response: { 200: json('The revoked key.', Key, { key: REVOKED }) },
        errors: ['key_not_found', 'key_state_conflict', 'invalid_reason'],
      },
    },
    async (request) => {
      const { orgId, id } = await keys.find(request.params.id);
      const { reason, leaked = false } = request.body;
      const revoked = await keys.revoke(orgId, id, operatorOf(request), { reason, leaked });
      return describeForApi(revoked, now());
    },
  );
  app.post(
    '/keys/:id/restore',
    {
      config: OPERATOR,
      schema: {
        operationId: 'restoreAnyKey',
        tag: 'Keys',
        summary: 'Undo a revocation',
        description: 'Within 90 days; also of a key that leaked.',
        params: Params,
        ...jsonBody(ReasonBody, { 'With a reason': { reason: 'Revoked by mistake' } }),
        response: { 200: json('The key, active again.', Key, { key: KEY }) },
        errors: ['key_not_found', 'key_state_conflict', 'invalid_reason'],
      },
    },
    async (request) => {
      const { orgId, id } = await keys.find(request.params.id);
      const { reason } = request.body;
      return describeForApi(await keys.restore(orgId, id, operatorOf(request), reason), now());
    },
  );
  app.post(
    '/leaked-keys',
    {
      config: OPERATOR,
      schema: {
        operationId: 'reportLeakedKey',
        tag: 'Keys',
        summary: 'Report a key that was found',
        description:
          'By the key itself or its SHA-256: it is revoked and marked as leaked, as `docket keys revoke --leaked` does. It stands in no log.',
        ...jsonBody(LeakedBody, {
          'By its SHA-256': {
            key: '9f91161f43433e49a6de6db680d79f60159f2e4ac9172621a12846428158440b',
            reason: 'In a public repository',
          },
        }),
        response: { 200: json('The revoked key.', Key, { key: { ...REVOKED, leaked: true } }) },
        errors: ['key_not_found', 'key_state_conflict', 'invalid_reason'],
      },
    },
    async (request) => {
      const { key, reason } = request.body;
      const hash = hashOfReport(key);
      if (hash === null) throw invalidParam('key', '`key` is neither a key nor a SHA-256.');
      const found = await keys.findByHash(hash);
      if (found === null) throw new Fault('key_not_found');
      const { orgId, id } = found;
      const told = { reason, leaked: true };
      return describeForApi(await keys.revoke(orgId, id, operatorOf(request), told), now());
    },
  );
};
