import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type, type Static } from 'typebox';
import { CHECKPOINT as LEDGER_CHECKPOINT } from '#api/docs/examples/receipts.ts';
import { ACTOR_KINDS, AUDIT_ACTIONS, type AuditEntry } from '#shared/accounts/audit/entry.ts';
import type { AuditLog } from '#shared/accounts/postgres/audit.ts';
import { exact, json } from '#api/docs/operation.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Page } from '#shared/kernel/page.ts';
import { formatAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { auditLogOf } from '#shared/ledger/origins.ts';
import type { AnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import { anchorChoice, AnchorProof, AnchorQuery, PROOF } from './anchor-fields.ts';
import { lineOfText, Nullable, Span, spanOf, Time } from './fields.ts';
import { listOf, Listing, listSchema } from './lists.ts';

/** As one of a ledger, with `/audit/` in the name of the log. */
const CHECKPOINT = LEDGER_CHECKPOINT.replaceAll('/log/', '/audit/');

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
  ...Span.properties,
  action: Type.Optional(Type.Enum([...AUDIT_ACTIONS])),
  actor: Type.Optional(lineOfText(200, 'Id of a key, user or operator')),
  subject: Type.Optional(lineOfText(200, 'Id of what was acted upon: a key, an export, a person')),
});

const ENTRY: Static<typeof Entry> = {
  object: 'audit_log_entry',
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
  /** The newest signed head of an organisation's audit log. */
  checkpoint: (orgId: string) => Promise<string | null>;
  anchor: Pick<AnchorReader, 'proof'>;
}

/** The caller's own audit log. */
export const auditLogRoutes: FastifyPluginAsyncTypebox<AuditLogRoutesOptions> = async (
  app,
  { audit, checkpoint, anchor },
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
        errors: ['invalid_limit', 'invalid_after', 'invalid_from', 'invalid_to'],
      },
    },
    async (request) => {
      const { orgId } = request.credential;
      const { from, to, ...rest } = request.query;
      const page = await audit.list({ orgId, ...rest, ...spanOf({ from, to }) });
      return auditLogList(page);
    },
  );
  app.get(
    '/audit-log/checkpoint',
    {
      config: { scope: 'admin:keys' },
      schema: {
        operationId: 'retrieveAuditLogCheckpoint',
        tag: 'Keys',
        summary: 'Read the signed head of the audit log',
        description:
          'How many entries your audit log has and the hash of the last (base64), in the form of a C2SP checkpoint, signed by the key for checkpoints. It follows an entry within half a minute.',
        response: {
          200: exact('text/plain', 'A signed note.', Type.String(), { checkpoint: CHECKPOINT }),
        },
        errors: ['checkpoint_not_found'],
      },
    },
    async (request, reply) => {
      const note = await checkpoint(request.credential.orgId);
      if (note === null) throw new Fault('checkpoint_not_found');
      return reply.type('text/plain; charset=utf-8').header('cache-control', 'no-cache').send(note);
    },
  );
  app.get(
    '/audit-log/anchor',
    {
      config: { scope: 'admin:keys' },
      schema: {
        operationId: 'retrieveAuditLogAnchor',
        tag: 'Keys',
        summary: 'Prove that everyone was shown the same audit log',
        description:
          'Leads from a signed head of your audit log to a checkpoint of the anchor log, as `GET /ledger/anchor` does for your ledger; `head_size_max`, `before`, `anchor_size` and `attested` choose in the same way.',
        querystring: AnchorQuery,
        response: {
          200: exact('application/json', 'The proof.', AnchorProof, { proof: PROOF }),
        },
        errors: ['anchor_proof_not_found'],
      },
    },
    async (request, reply) => {
      const proof = await anchor.proof(
        auditLogOf(request.credential.orgId),
        anchorChoice(request.query),
      );
      if (proof === null) throw new Fault('anchor_proof_not_found');
      return reply
        .type('application/json; charset=utf-8')
        .header('cache-control', 'no-cache')
        .send(formatAnchorProof(proof));
    },
  );
};

/** Entries as the API lists them. */
export function auditLogList(page: Page<AuditEntry>) {
  return listOf({ ...page, items: page.items.map(describeEntry) });
}

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
