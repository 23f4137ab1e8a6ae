import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { Fault } from '#shared/kernel/errors.ts';
import type { RecalculationRequests } from '#shared/receipts/port-recalculation.ts';

const Params = Type.Object({ id: Type.String({ maxLength: 64 }) });

const Recalculation = Type.Object(
  {
    object: Type.Literal('recalculation'),
    receipt_id: Type.String(),
    status: Type.Literal('pending'),
  },
  { title: 'Recalculation' },
);

export interface RecalculationRoutesOptions {
  recalculations: Pick<RecalculationRequests, 'flag'>;
}

/** What a caller does with a degraded receipt that it cannot leave to time. */
export const recalculationRoutes: FastifyPluginAsyncTypebox<RecalculationRoutesOptions> = async (
  app,
  { recalculations },
) => {
  app.post(
    '/receipts/:id/recalculate',
    {
      config: { scope: 'service:read' },
      schema: {
        tags: ['Receipts'],
        summary: 'Have a degraded receipt recalculated now',
        params: Params,
        response: { 202: Recalculation },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const outcome = await recalculations.flag(request.credential.orgId, id);
      if (outcome === 'unknown') throw new Fault('receipt_not_found');
      if (outcome === 'pending') {
        throw new Fault('recalculation_pending');
      }
      if (outcome === 'not_degraded') {
        throw new Fault('not_degraded');
      }
      void reply.code(202);
      return { object: 'recalculation' as const, receipt_id: id, status: 'pending' as const };
    },
  );
};
