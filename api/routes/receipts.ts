import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { Fault } from '#shared/kernel/errors.ts';
import type { LedgerReader } from '#shared/ledger/postgres/reader.ts';
import { Listing } from './lists.ts';
import { timeOf, TimeText } from './times.ts';

const Params = Type.Object({ id: Type.String({ maxLength: 64 }) });
const Query = Type.Object({
  ...Listing.properties,
  after: Type.Optional(Type.String({ maxLength: 512 })),
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

type Reader = (orgId: string, id: string) => Promise<string>;

/** Receipts as they are stored: nothing here builds or changes one. */
export const receiptRoutes: FastifyPluginAsyncTypebox<ReceiptRoutesOptions> = async (
  app,
  { ledger },
) => {
  const read: Reader = async (orgId, id) => {
    const receipt = await ledger.receipt(orgId, id);
    if (receipt === null) throw new Fault('receipt_not_found');
    return Buffer.from(receipt.body).toString();
  };
  await app.register(singleReceipts, { ledger, read });
  await app.register(receiptLists, { ledger, read });
};

interface Options extends ReceiptRoutesOptions {
  read: Reader;
}

const singleReceipts: FastifyPluginAsyncTypebox<Options> = async (app, { ledger, read }) => {
  app.get(
    '/receipts/:id',
    {
      config: CONFIG,
      schema: { tags: TAGS, summary: 'One receipt, as its exact bytes', params: Params },
    },
    async (request, reply) => {
      const { orgId } = request.credential;
      const { id } = request.params;
      const bytes = await read(orgId, id);
      const successor = await ledger.successor(orgId, id);
      if (successor !== null) {
        void reply.header('link', `</v1/receipts/${successor}>; rel="successor-version"`);
      }
      return reply.type(JSON_TYPE).send(bytes);
    },
  );
  app.get(
    '/receipts/:id/proof',
    {
      config: CONFIG,
      schema: { tags: TAGS, summary: 'Inclusion in the ledger (C2SP tlog-proof)', params: Params },
    },
    async (request, reply) => {
      const { orgId } = request.credential;
      const { id } = request.params;
      const proof = await ledger.proof(orgId, id);
      if (proof !== null) return reply.type('text/plain; charset=utf-8').send(proof);
      await read(orgId, id);
      throw new Fault('proof_not_ready');
    },
  );
};

const receiptLists: FastifyPluginAsyncTypebox<Options> = async (app, { ledger, read }) => {
  app.get(
    '/receipts',
    { config: CONFIG, schema: { tags: TAGS, summary: 'List receipts', querystring: Query } },
    async (request, reply) => {
      const { from, to, after, ...filters } = request.query;
      const page = await ledger.listReceipts({
        orgId: request.credential.orgId,
        ...filters,
        ...(after === undefined ? {} : { after: cursorOf(after) }),
        ...(from === undefined ? {} : { from: timeOf('from', from) }),
        ...(to === undefined ? {} : { to: timeOf('to', to) }),
      });
      const rows = page.items.map(({ body }) => Buffer.from(body).toString());
      const ids = page.items.map(({ id }) => id);
      return reply.type(JSON_TYPE).send(listText(rows, ids, page.hasMore));
    },
  );
  app.get(
    '/receipts/:id/revisions',
    {
      config: CONFIG,
      schema: { tags: TAGS, summary: 'The chain of revisions, oldest first', params: Params },
    },
    async (request, reply) => {
      const { orgId } = request.credential;
      const ids = await ledger.revisions(orgId, request.params.id);
      if (ids.length === 0) throw new Fault('receipt_not_found');
      const rows = await Promise.all(ids.map((id) => read(orgId, id)));
      return reply.type(JSON_TYPE).send(listText(rows, ids, false));
    },
  );
};

/** A receipt's own `id` is its address; SDKs that page by the last row's id send that. */
function cursorOf(after: string): string {
  return after.slice(after.lastIndexOf('/') + 1);
}

/** A list whose rows are spliced in, not parsed and written again: each keeps its exact bytes. */
function listText(rows: readonly string[], ids: readonly string[], hasMore: boolean): string {
  const first = JSON.stringify(ids[0] ?? null);
  const last = JSON.stringify(ids.at(-1) ?? null);
  return `{"object":"list","data":[${rows.join(',')}],"first_id":${first},"last_id":${last},"has_more":${String(hasMore)}}`;
}
