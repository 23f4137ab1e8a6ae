import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type, type Static } from 'typebox';
import { WITHOUT_CONTROLS } from '#api/plugins/demand.ts';
import { ACTOR_KINDS, type AuditEntry } from '#shared/accounts/audit/entry.ts';
import type { AuditLog } from '#shared/accounts/postgres/audit.ts';
import { json } from '#api/docs/operation.ts';
import { Nullable, Time } from './fields.ts';
import { listOf, Listing, listSchema } from './lists.ts';

const Entry = Type.Object(
  {
    object: Type.Literal('audit_log_entry'),
    id: Type.String(),
    sequence: Type.Integer({ description: 'Position in the chain, from 0, without gaps' }),
    at: Time,
    action: Type.String(),
    actor: Type.Object({
      kind: Type.String({ enum: [...ACTOR_KINDS] }),
      id: Type.String(),
    }),
    address: Nullable(Type.String()),
    subject: Nullable(Type.String()),
    reason: Nullable(Type.String()),
    details: Type.Record(Type.String(), Type.Unknown()),
    previous_hash: Type.String(),
    hash: Type.String(),
  },
  { title: 'AuditLogEntry' },
);

const Query = Type.Object({
  ...Listing.properties,
  action: Type.Optional(Type.String({ maxLength: 100, pattern: WITHOUT_CONTROLS })),
  actor: Type.Optional(
    Type.String({
      maxLength: 200,
      pattern: WITHOUT_CONTROLS,
      description: 'Id of a key, user or operator',
    }),
  ),
});

const ENTRY = {
  object: 'audit_log_entry' as const,
  id: 'aud_01JD4ZC3X6P0S4N8V2YJD5E1FQ',
  sequence: 12,
  at: '2026-11-20T10:00:00.000Z',
  action: 'key.revoked',
  actor: { kind: 'key', id: 'key_01JD0A8P2Q6R9T3V7WXB1C5DFH' },
  address: '192.0.2.7',
  subject: 'key_01JD0A9F6R4N8P1S5VZC7B2DEG',
  reason: 'Found in a build log',
  details: {},
  previous_hash: '3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d',
  hash: '2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6',
};

export interface AuditLogRoutesOptions {
  audit: Pick<AuditLog, 'list'>;
}

/** The caller's own audit log. */
export const auditLogRoutes: FastifyPluginAsyncTypebox<AuditLogRoutesOptions> = async (
  app,
  { audit },
) => {
  app.get(
    '/audit-log',
    {
      config: { scope: 'admin:keys' },
      schema: {
        operationId: 'listAuditLog',
        tag: 'Keys',
        summary: 'Read the audit log',
        description:
          'Every transition of the account, every act on a key, every export: who, when, from where and why. Append-only; each entry holds the hash of the one before.',
        querystring: Query,
        response: {
          200: json('A page.', listSchema(Entry), {
            page: listOf({ items: [ENTRY], hasMore: false }),
          }),
        },
        errors: ['invalid_limit', 'invalid_after'],
      },
    },
    async (request) => {
      const { orgId } = request.credential;
      const page = await audit.list({ orgId, ...request.query });
      return listOf({ ...page, items: page.items.map(describeEntry) });
    },
  );
};

function describeEntry(entry: AuditEntry): Static<typeof Entry> {
  return {
    object: 'audit_log_entry',
    id: entry.id,
    sequence: entry.sequence,
    at: new Date(entry.at).toISOString(),
    action: entry.action,
    actor: { kind: entry.actorKind, id: entry.actorId },
    address: entry.address,
    subject: entry.subject,
    reason: entry.reason,
    details: JSON.parse(entry.details) as Record<string, unknown>,
    previous_hash: entry.previousHash,
    hash: entry.hash,
  };
}
