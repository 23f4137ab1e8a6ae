import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { Fault, notFound } from '../../shared/domain/errors.ts';
import type { LedgerReader } from '../../shared/ports/ledger.ts';
import { Listing } from './lists.ts';
import { timeOf, TimeText } from './times.ts';

const Params = Type.Object({ id: Type.String({ maxLength: 64 }) });
const Query = Type.Object({
  ...Listing.properties,
  model: Type.Optional(Type.String({ maxLength: 300 })),
  region: Type.Optional(Type.String({ maxLength: 64 })),
  tier: Type.Optional(Type.String({ maxLength: 32 })),
  from: Type.Optional(TimeText),
  to: Type.Optional(TimeText),
});

const CONFIG = { scope: 'service:read' } as const;
const TAGS = ['Receipts'];
const JSON_TYPE = 'application/json; charset=utf-8';

export interface ReceiptRoutesOptions {
  ledger: LedgerReader;
}

/** Receipts as they are stored: nothing here builds or changes one. */
export const receiptRoutes: FastifyPluginAsyncTypebox<ReceiptRoutesOptions> = async (
  app,
  { ledger },
) => {
  const read = async (organisationId: string, id: string): Promise<string> => {
    const receipt = await ledger.receipt(organisationId, id);
    if (receipt === null) throw notFound('receipt', id);
    return Buffer.from(receipt.body).toString();
  };

  app.get(
    '/receipts/:id',
    {
      config: CONFIG,
      schema: { tags: TAGS, summary: 'One receipt, as its exact bytes', params: Params },
    },
    async (request, reply) => {
      const { organisationId } = request.credential;
      const { id } = request.params;
      const bytes = await read(organisationId, id);
      const successor = await ledger.successor(organisationId, id);
      if (successor !== null)
        void reply.header('link', `</v1/receipts/${successor}>; rel="successor-version"`);
      return reply.type(JSON_TYPE).send(bytes);
    },
  );

  app.get(
    '/receipts',
    { config: CONFIG, schema: { tags: TAGS, summary: 'List receipts', querystring: Query } },
    async (request, reply) => {
      const { from, to, ...filters } = request.query;
      const page = await ledger.listReceipts({
        orgId: request.credential.organisationId,
        ...filters,
        ...(from === undefined ? {} : { from: timeOf('from', from) }),
        ...(to === undefined ? {} : { to: timeOf('to', to) }),
      });
      const ids = page.items.map(({ id }) => id);
      const rows = page.items.map(({ body }) => Buffer.from(body).toString());
      // Spliced, not parsed and written again: each row keeps its exact bytes.
      return reply
        .type(JSON_TYPE)
        .send(
          `{"object":"list","data":[${rows.join(',')}],"first_id":${JSON.stringify(ids[0] ?? null)},` +
            `"last_id":${JSON.stringify(ids.at(-1) ?? null)},"has_more":${String(page.hasMore)}}`,
        );
    },
  );

  app.get(
    '/receipts/:id/revisions',
    {
      config: CONFIG,
      schema: { tags: TAGS, summary: 'The chain of revisions, oldest first', params: Params },
    },
    async (request, reply) => {
      const { organisationId } = request.credential;
      const ids = await ledger.revisions(organisationId, request.params.id);
      if (ids.length === 0) throw notFound('receipt', request.params.id);
      const rows = await Promise.all(ids.map((id) => read(organisationId, id)));
      return reply
        .type(JSON_TYPE)
        .send(
          `{"object":"list","data":[${rows.join(',')}],"first_id":${JSON.stringify(ids[0])},` +
            `"last_id":${JSON.stringify(ids.at(-1))},"has_more":false}`,
        );
    },
  );

  app.get(
    '/receipts/:id/proof',
    {
      config: CONFIG,
      schema: { tags: TAGS, summary: 'Inclusion in the ledger (C2SP tlog-proof)', params: Params },
    },
    async (request, reply) => {
      const { organisationId } = request.credential;
      const { id } = request.params;
      const proof = await ledger.proof(organisationId, id);
      if (proof === null) {
        await read(organisationId, id);
        throw new Fault(
          'proof_not_ready',
          'The receipt is not in a signed checkpoint yet. Ask again in a few seconds.',
          {
            param: 'id',
            retryAfterMs: 2_000,
          },
        );
      }
      return reply.type('text/plain; charset=utf-8').send(proof);
    },
  );
};
