import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type, type Static } from 'typebox';
import { ACTOR_KINDS, type AuditEntry } from '#shared/accounts/audit/entry.ts';
import type { AuditLog } from '#shared/accounts/postgres/audit.ts';
import { listOf, Listing, listSchema } from './lists.ts';

const Nullable = Type.Union([Type.String(), Type.Null()]);

const Entry = Type.Object(
  {
    object: Type.Literal('audit_log_entry'),
    id: Type.String(),
    sequence: Type.Integer({ description: 'Position in the chain, from 0, without gaps' }),
    at: Type.String({ description: 'RFC 3339, UTC' }),
    action: Type.String(),
    actor: Type.Object({
      kind: Type.String({ enum: [...ACTOR_KINDS] }),
      id: Type.String(),
    }),
    address: Nullable,
    subject: Nullable,
    reason: Nullable,
    details: Type.Record(Type.String(), Type.Unknown()),
    previous_hash: Type.String(),
    hash: Type.String(),
  },
  { title: 'AuditLogEntry' },
);

/** No actor and no action has a control character, and no database could compare one. */
const PRINTABLE = '^[^\\u0000-\\u001f]*$';

const Query = Type.Object({
  ...Listing.properties,
  action: Type.Optional(Type.String({ maxLength: 100, pattern: PRINTABLE })),
  actor: Type.Optional(
    Type.String({
      maxLength: 200,
      pattern: PRINTABLE,
      description: 'Id of a key, user or operator',
    }),
  ),
});

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
        tags: ['Keys'],
        summary: 'The audit log of the organisation',
        querystring: Query,
        response: { 200: listSchema(Entry) },
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
