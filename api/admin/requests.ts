import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { json } from '#api/docs/operation.ts';
import { pathId } from '#api/routes/fields.ts';
import { describeRequest, RequestRecord, REQUEST_SHOWN } from '#api/routes/requests.ts';
import { requestIdNamed } from '#shared/kernel/answer-ids.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { RequestRow } from '#shared/requests/row.ts';
import { OPERATOR, ORG_ID } from './fields.ts';

const AnyRequest = Type.Object(
  { org_id: Type.String(), ...RequestRecord.properties },
  { title: 'RequestOfOrganisation' },
);
const SHOWN: Static<typeof AnyRequest> = { org_id: ORG_ID, ...REQUEST_SHOWN };

/** What became of one request, of any organisation, as `docket requests show` says it. */
export const anyRequestRoutes: FastifyPluginAsyncTypebox<{
  findRequestRow: (id: string) => Promise<RequestRow | null>;
}> = async (app, { findRequestRow }) => {
  app.get(
    '/requests/:id',
    {
      config: OPERATOR,
      schema: {
        operationId: 'retrieveAnyRequest',
        tag: 'Requests',
        summary: 'Read what became of a request of any organisation',
        description:
          'By its own id (`x-request-id`), by that of its answer, or by its receipt’s: refused and failed ones too, never their texts.',
        params: pathId('Id of the request, its answer or its receipt', REQUEST_SHOWN.id),
        response: { 200: json('The request.', AnyRequest, { shown: SHOWN }) },
        errors: ['request_not_found'],
      },
    },
    async ({ params }) => {
      const row = await findRequestRow(requestIdNamed(params.id));
      if (row === null) throw new Fault('request_not_found');
      return { org_id: row.orgId, ...describeRequest(row) };
    },
  );
};
