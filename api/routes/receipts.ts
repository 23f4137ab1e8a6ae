import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { INCLUSION_PROOF, RECEIPT, RECEIPT_ID } from '#api/docs/examples/receipts.ts';
import { exact } from '#api/docs/operation.ts';
import { Receipt } from '#api/docs/schemas/receipt.ts';
import { isBrowser } from '#api/plugins/reply-with-error.ts';
import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { receiptIdNamed } from '#shared/kernel/answer-ids.ts';
import { OUTCOMES } from '#shared/kernel/inference.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { COSE_RECEIPT_TYPE } from '#shared/ledger/cose-receipts.ts';
import { LEDGER_KINDS } from '#shared/ledger/entries.ts';
import type { LedgerReader } from '#shared/ledger/postgres/reader.ts';
import { pathId, Span, spanOf } from './fields.ts';
import { refuseUnknownNames } from './known-names.ts';
import { Listing, listSchema } from './lists.ts';

/** Ids of answers and addresses of receipts are longer than ids of receipts. */
const Names = Type.Object({
  id: Type.String({
    maxLength: 512,
    description:
      'Id of the receipt (`rcpt_…`), of its request (`req_…`), its address URL-encoded, or the `id` of the answer that it is of (`chatcmpl-…`, `cmpl-…`, `resp_…`, `msg_…`)',
    examples: [RECEIPT_ID],
  }),
});
/** As a filter, the key that asks, which does not know its own id. */
const SELF = 'self';
const Params = pathId('Id of the receipt', RECEIPT_ID);
const Query = Type.Object({
  ...Listing.properties,
  after: Type.Optional(Type.String({ maxLength: 512 })),
  model: Type.Optional(
    Type.String({ maxLength: 300, description: 'Id of the model, or an alias that it has now' }),
  ),
  region: Type.Optional(Type.String({ maxLength: 64 })),
  tier: Type.Optional(Type.Enum([...PLANS, 'degraded'])),
  key: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Id of the key that the request had; `self`: the key that asks',
    }),
  ),
  outcome: Type.Optional(Type.Enum([...OUTCOMES])),
  kind: Type.Optional(Type.Enum([...LEDGER_KINDS])),
  ...Span.properties,
});

const ReceiptList = Type.Object(listSchema(Receipt).properties, { title: 'ReceiptList' });
const LIST: Static<typeof ReceiptList> = {
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

export interface ReceiptListOptions extends ReceiptRoutesOptions {
  /** The catalogue as it is now. */
  index: () => RoutingIndex;
}

type Reader = (orgId: string, id: string) => Promise<string>;

/** Receipts as they are stored: nothing here builds or changes one. */
export const receiptRoutes: FastifyPluginAsyncTypebox<ReceiptListOptions> = async (
  app,
  options,
) => {
  const read = readerOf(options);
  await app.register(singleReceipts, { ...options, read });
  await app.register(receiptLists, { ...options, read });
};

/** Reads the exact bytes of a receipt. It throws `receipt_pending` or `receipt_not_found`. */
function readerOf({ ledger, pendingReceipts }: ReceiptRoutesOptions): Reader {
  return async (orgId, id) => {
    const receipt = await ledger.receipt(orgId, id);
    if (receipt === null) {
      const isPending = await pendingReceipts.isPending(orgId, id);
      throw isPending ? new Fault('receipt_pending') : new Fault('receipt_not_found');
    }
    return Buffer.from(receipt.body).toString();
  };
}

export interface ReceiptAddressOptions extends ReceiptRoutesOptions {
  /** Shows a browser without a key the page of the receipt, or the ways to it. */
  showInBrowser: (id: string, reply: FastifyReply) => FastifyReply;
}

/** A receipt's own address, which its `id` names: the document with a key; without one 401, and for browsers a page. */
export const receiptAddressRoutes: FastifyPluginAsyncTypebox<ReceiptAddressOptions> = async (
  app,
  { showInBrowser, ...options },
) => {
  const read = readerOf(options);
  app.setErrorHandler((error, request, reply) => {
    const isRefused = error instanceof Fault && error.code === 'invalid_api_key';
    const id = receiptIdNamed((request.params as { id: string }).id);
    if (!isBrowser(request) || !isRefused || id === undefined) throw error;
    return showInBrowser(id, reply);
  });
  app.get(
    '/receipts/:id',
    {
      config: CONFIG,
      schema: {
        operationId: 'retrieveReceiptAtItsAddress',
        tag: 'Receipts',
        summary: 'Read a receipt at its own address',
        description:
          'The address that a receipt has as its `id`. It takes the key of the organisation whose receipt it is, as `GET /v1/receipts/{id}` does. A browser without a key is shown the page of the receipt in the dashboard, or how to get there.',
        params: Params,
        response: { 200: ONE },
        errors: ['receipt_not_found', 'receipt_pending'],
      },
    },
    (request, reply) => sendReceipt(options, read, request, reply),
  );
};

const ONE = {
  ...exact('application/json', 'The receipt.', Receipt, { receipt: RECEIPT }),
  headers: ['link'],
};

async function sendReceipt(
  { ledger }: ReceiptRoutesOptions,
  read: Reader,
  request: Pick<FastifyRequest, 'credential'> & { params: { id: string } },
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { orgId } = request.credential;
  const id = receiptIdNamed(request.params.id);
  if (id === undefined) throw new Fault('receipt_not_found');
  const bytes = await read(orgId, id);
  const successor = await ledger.successor(orgId, id);
  if (successor !== null) {
    void reply.header('link', `</v1/receipts/${successor}>; rel="successor-version"`);
  }
  return reply.type(JSON_TYPE).send(bytes);
}

interface Options extends ReceiptRoutesOptions {
  read: Reader;
}

const COSE_NOT_READY =
  'The receipt is not in a signed checkpoint of two entries or more yet. Ask again in a few seconds, or once your log has a second entry.';

const singleReceipts: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { ledger, read } = options;
  app.get(
    '/receipts/:id',
    {
      config: CONFIG,
      schema: {
        operationId: 'retrieveReceipt',
        tag: 'Receipts',
        summary: 'Read a receipt',
        description:
          'The original receipt: exactly the bytes that were signed, logged and sent, by its id, its address, or the id of the request or the answer that it is of. When it was recalculated, `Link` names its successor.',
        params: Names,
        response: { 200: ONE },
        errors: ['receipt_not_found', 'receipt_pending'],
      },
    },
    (request, reply) => sendReceipt(options, read, request, reply),
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
  app.get(
    '/receipts/:id/cose',
    {
      config: CONFIG,
      schema: {
        operationId: 'retrieveCoseReceipt',
        tag: 'Receipts',
        summary: 'Prove the same as a COSE receipt',
        description:
          'A COSE receipt of inclusion (RFC 9942): the path from the receipt, whose exact bytes are the leaf, to the root of your log, which is the detached payload and signed by the key of the log’s checkpoints. It is not ready before your log has two entries, because its form has no path for a tree of one.',
        params: Params,
        response: {
          200: exact('application/cose', 'A tagged COSE_Sign1.', Type.Unsafe({}), {}),
        },
        errors: ['receipt_not_found', 'proof_not_ready'],
      },
    },
    async (request, reply) => {
      const { orgId } = request.credential;
      const { id } = request.params;
      const receipt = await ledger.coseReceipt(orgId, id);
      if (receipt !== null) return reply.type(COSE_RECEIPT_TYPE).send(Buffer.from(receipt));
      await read(orgId, id);
      throw new Fault('proof_not_ready', { message: COSE_NOT_READY });
    },
  );
};

const receiptLists: FastifyPluginAsyncTypebox<Options & ReceiptListOptions> = async (
  app,
  options,
) => {
  const { ledger, read } = options;
  app.get(
    '/receipts',
    {
      config: CONFIG,
      schema: {
        operationId: 'listReceipts',
        tag: 'Receipts',
        summary: 'List receipts',
        description:
          'Your receipts, newest first. Each is its exact bytes. `from` is included and `to` is not, by the time of the request.',
        querystring: Query,
        response: { 200: exact('application/json', 'A page.', ReceiptList, { page: LIST }) },
        errors: [
          'invalid_limit',
          'invalid_after',
          'invalid_from',
          'invalid_to',
          'invalid_model',
          'invalid_region',
        ],
      },
    },
    async (request, reply) => {
      const { from, to, after, ...filters } = request.query;
      if (filters.key === SELF) filters.key = request.credential.keyId;
      // Receipts have the model's own name.
      if (filters.model !== undefined)
        filters.model = options.index().byName.get(filters.model)?.model.id ?? filters.model;
      await refuseUnknownNames(options, request.credential, filters);
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
      // One after the other: a request holds one connection to PostgreSQL, however long its chain is.
      const rows: string[] = [];
      for (const id of ids) rows.push(await read(orgId, id));
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
