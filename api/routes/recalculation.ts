import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { RECEIPT_ID } from '#api/docs/examples/receipts.ts';
import { json, jsonBody } from '#api/docs/operation.ts';
import { actorOf } from '#api/plugins/authenticate.ts';
import { REASON_LENGTH_MAX } from '#shared/accounts/audit/entry.ts';
import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { RecalculationRequests } from '#shared/receipts/postgres/recalculation-requests.ts';
import { lineOfText, pathId } from './fields.ts';

const Recalculation = Type.Object(
  {
    object: Type.Literal('recalculation'),
    receipt_id: Type.String(),
    status: Type.Literal('pending'),
  },
  { title: 'Recalculation' },
);

/**
 * The reason goes onto a receipt, whose bytes are signed: without control characters and half surrogate pairs, it is the
 * same text wherever it is stored.
 */
const ReasonBody = Type.Object(
  {
    reason: Type.Optional(lineOfText(REASON_LENGTH_MAX)),
  },
  { additionalProperties: false },
);

export interface RecalculationRoutesOptions {
  recalculations: Pick<RecalculationRequests, 'flag'>;
  pendingReceipts: Pick<PendingReceipts, 'isPending'>;
}

/** Lets a caller ask for a degraded receipt to be estimated again at once. */
export const recalculationRoutes: FastifyPluginAsyncTypebox<RecalculationRoutesOptions> = async (
  app,
  { recalculations, pendingReceipts },
) => {
  app.post(
    '/receipts/:id/recalculate',
    {
      config: { scope: 'service:read' },
      schema: {
        operationId: 'recalculateReceipt',
        tag: 'Receipts',
        summary: 'Have a degraded receipt recalculated now',
        description:
          'Degraded receipts are recalculated by themselves, later and later while the methodology fails. This makes it now, and the audit log has who asked and why; the reason stands on the revision. Success appends a new receipt that revises this one; it then stands among its `revisions`.',
        params: pathId('Id of the receipt', RECEIPT_ID),
        bodyOptional: true,
        ...jsonBody(ReasonBody, {
          'with a reason': { reason: 'The size of the model is published now' },
        }),
        response: {
          202: json('The receipt is flagged.', Recalculation, {
            recalculation: { object: 'recalculation', receipt_id: RECEIPT_ID, status: 'pending' },
          }),
        },
        errors: [
          'receipt_not_found',
          'receipt_pending',
          'recalculation_pending',
          'not_degraded',
          'invalid_reason',
        ],
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { reason } = request.body;
      const outcome = await recalculations.flag(request.credential.orgId, id, {
        actor: actorOf(request),
        ...(reason === undefined ? {} : { reason }),
      });
      if (outcome === 'unknown') {
        const isPending = await pendingReceipts.isPending(request.credential.orgId, id);
        throw isPending ? new Fault('receipt_pending') : new Fault('receipt_not_found');
      }
      if (outcome === 'pending') throw new Fault('recalculation_pending');
      if (outcome === 'not_degraded') throw new Fault('not_degraded');
      void reply.code(202);
      return { object: 'recalculation' as const, receipt_id: id, status: 'pending' as const };
    },
  );
};
