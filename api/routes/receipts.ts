import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { INCLUSION_PROOF, RECEIPT, RECEIPT_ID } from '#api/docs/examples/receipts.ts';
import { exact } from '#api/docs/operation.ts';
import { Receipt } from '#api/docs/schemas/receipt.ts';
import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { LedgerReader } from '#shared/ledger/postgres/reader.ts';
import { pathId, Span, spanOf } from './fields.ts';
import { Listing, listSchema } from './lists.ts';

const Params = pathId('Id of the receipt', RECEIPT_ID);
const Query = Type.Object({
  ...Listing.properties,
  after: Type.Optional(Type.String({ maxLength: 512 })),
  model: Type.Optional(Type.String({ maxLength: 300 })),
  region: Type.Optional(Type.String({ maxLength: 64 })),
  tier: Type.Optional(Type.String({ maxLength: 32 })),
  ...Span.properties,
});

const ReceiptList = Type.Object(listSchema(Receipt).properties, { title: 'ReceiptList' });
const LIST = {
  object: 'list',
  data: [RECEIPT],
  first_id: RECEIPT_ID,
  last_id: RECEIPT_ID,
  has_more: false,
};

const CONFIG = { scope: 'service:read' } as const;
const JSON_TYPE = 'application/json; charset=utf-8';

export interface ReceiptRoutesOptions {
  ledger: LedgerReader;
  pendingReceipts: Pick<PendingReceipts, 'isPending'>;
}

type Reader = (orgId: string, id: string) => Promise<string>;

/** Receipts as they are stored: nothing here builds or changes one. */
export const receiptRoutes: FastifyPluginAsyncTypebox<ReceiptRoutesOptions> = async (
  app,
  { ledger, pendingReceipts },
) => {
  const read: Reader = async (orgId, id) => {
    const receipt = await ledger.receipt(orgId, id);
    if (receipt === null) {
      const isPending = await pendingReceipts.isPending(orgId, id);
      throw isPending ? new Fault('receipt_pending') : new Fault('receipt_not_found');
    }
    return Buffer.from(receipt.body).toString();
  };
  await app.register(singleReceipts, { ledger, pendingReceipts, read });
  await app.register(receiptLists, { ledger, pendingReceipts, read });
};

interface Options extends ReceiptRoutesOptions {
  read: Reader;
}

const singleReceipts: FastifyPluginAsyncTypebox<Options> = async (app, { ledger, read }) => {
  app.get(
    '/receipts/:id',
    {
      config: CONFIG,
      schema: {
        operationId: 'retrieveReceipt',
        tag: 'Receipts',
        summary: 'Read a receipt',
        description:
          'The original receipt: exactly the bytes that were signed, logged and sent. When it was recalculated, `Link` names its successor.',
        params: Params,
        response: {
          200: {
            ...exact('application/json', 'The receipt.', Receipt, { receipt: RECEIPT }),
            headers: ['link'],
          },
        },
        errors: ['receipt_not_found', 'receipt_pending'],
      },
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
      schema: {
        operationId: 'retrieveReceiptProof',
        tag: 'Receipts',
        summary: 'Prove that a receipt is in the ledger',
        description:
          'A C2SP tlog-proof: the path from the receipt to a signed checkpoint of your log. A receipt gets there within ten seconds.',
        params: Params,
        response: {
          200: exact('text/plain', 'The proof.', Type.String(), { proof: INCLUSION_PROOF }),
        },
        errors: ['receipt_not_found', 'proof_not_ready'],
      },
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
    {
      config: CONFIG,
      schema: {
        operationId: 'listReceipts',
        tag: 'Receipts',
        summary: 'List receipts',
        description: 'Your receipts, newest first. Each is its exact bytes.',
        querystring: Query,
        response: { 200: exact('application/json', 'A page.', ReceiptList, { page: LIST }) },
        errors: ['invalid_limit', 'invalid_after', 'invalid_from'],
      },
    },
    async (request, reply) => {
      const { from, to, after, ...filters } = request.query;
      const page = await ledger.listReceipts({
        orgId: request.credential.orgId,
        ...filters,
        ...(after === undefined ? {} : { after: cursorOf(after) }),
        ...spanOf({ from, to }),
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
      schema: {
        operationId: 'listReceiptRevisions',
        tag: 'Receipts',
        summary: 'List a receipt’s revisions',
        description: 'The whole chain that the receipt belongs to, oldest first.',
        params: Params,
        response: {
          200: exact('application/json', 'The chain, in one page.', ReceiptList, { chain: LIST }),
        },
        errors: ['receipt_not_found'],
      },
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
