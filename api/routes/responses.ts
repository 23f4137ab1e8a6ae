import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { RECEIPT } from '#api/docs/examples/receipts.ts';
import { exact, json } from '#api/docs/operation.ts';
import { enterReader, type ReadingDeps } from '#api/inference/enter-reader.ts';
import { inputItems, type ItemsPage } from '#api/inference/kept/conversation.ts';
import type { KeptResponses } from '#api/inference/kept/kept-responses.ts';
import { LongLists } from '#api/inference/kept/long-lists.ts';
import { ResponseObject } from '#api/openai/responses.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { keptIn } from '#shared/lanes/kept-response.ts';
import { anyObject, pathId } from './fields.ts';
import { Listing, listSchema } from './lists.ts';

const ID = 'resp_01M7W53ZF4Z6X0T8WB5N2K9MVC';
const params = pathId('Id of the response', ID);
const config = { scope: 'inference:write' } as const;

const Deleted = Type.Object(
  { id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) },
  { title: 'DeletedResponse' },
);
const Item = anyObject('An input item: a message, a call, the output of one, or reasoning');
const Items = Type.Object(listSchema(Item).properties, { title: 'ResponseInputItemList' });
const Query = Type.Object({
  ...Listing.properties,
  after: Type.Optional(Type.String({ maxLength: 512 })),
});

export const EXAMPLE_RESPONSE: Omit<Static<typeof ResponseObject>, 'receipt'> = {
  id: ID,
  object: 'response',
  created_at: 1_795_167_485,
  status: 'completed',
  model: 'llama-3.1-8b',
  output: [
    {
      type: 'message',
      id: 'msg_01M7W53ZF4Z6X0T8WB5N2K9MVC_0',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Air scatters blue light.', annotations: [] }],
    },
  ],
  error: null,
  incomplete_details: null,
  previous_response_id: null,
  store: true,
  usage: {
    input_tokens: 21,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 6,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 27,
  },
};
const EXAMPLE_ITEM = {
  type: 'message',
  id: 'msg_01M7W53ZF4Z6X0T8WB5N2K9MVC_in_0',
  role: 'user',
  status: 'completed',
  content: [{ type: 'input_text', text: 'Why is the sky blue? Answer in one sentence.' }],
};

const KEPT =
  'Responses are kept for 24 hours after their last use, unless their request says `store: false` or the organisation has none kept.';
const ERRORS = ['response_not_found', 'dispatch_unavailable'] as const;

export interface ResponseRoutesOptions {
  kept: Pick<KeptResponses, 'read' | 'conversation' | 'drop'>;
  /** Lists what a kept response was made of, on a thread where that is long. */
  reading: ReadingDeps;
}

/** Responses that are kept: they are read, listed and deleted by the organisation that made them. */
export const responseRoutes: FastifyPluginAsyncTypebox<ResponseRoutesOptions> = async (
  app,
  { kept, reading },
) => {
  const longLists = new LongLists();
  app.get(
    '/responses/:id',
    {
      config,
      schema: {
        operationId: 'retrieveResponse',
        tag: 'Inference',
        summary: 'Read a kept response',
        description: `The response as it was sent, with its receipt. ${KEPT}`,
        params,
        querystring: Type.Object({
          stream: Type.Optional(Type.Boolean({ description: 'False: the events are not kept' })),
        }),
        response: {
          200: exact('application/json', 'The response and its receipt.', ResponseObject, {
            response: { ...EXAMPLE_RESPONSE, receipt: RECEIPT },
          }),
        },
        errors: ERRORS,
      },
    },
    async ({ params: { id }, query, credential }, reply) => {
      if (query.stream === true)
        throw invalidParam(
          'stream',
          '`stream` is not offered: the events of a response are not kept.',
        );
      if (!credential.keepResponses) throw new Fault('response_not_found');
      return kept.read(credential.orgId, id, (text) => {
        if (text === null) throw new Fault('response_not_found');
        return reply.type('application/json; charset=utf-8').send(keptIn(text).response);
      });
    },
  );
  app.delete(
    '/responses/:id',
    {
      config,
      schema: {
        operationId: 'deleteResponse',
        tag: 'Inference',
        summary: 'Delete a kept response',
        description:
          'Deletes the response and the input of its request at once. What goes on from it cannot be gone on from any more, and lists the input items that are left. Its receipt stays.',
        params,
        response: {
          200: json('It is deleted.', Deleted, {
            deleted: { id: ID, object: 'response', deleted: true },
          }),
        },
        errors: ERRORS,
      },
    },
    async ({ params: { id }, credential: { orgId } }) => {
      if (!(await kept.drop(orgId, id))) throw new Fault('response_not_found');
      return { id, object: 'response' as const, deleted: true as const };
    },
  );
  app.get(
    '/responses/:id/input_items',
    {
      config,
      schema: {
        operationId: 'listResponseInputItems',
        tag: 'Inference',
        summary: 'List the input items of a kept response',
        description: `What the response was made of: the input of its request, and before it the conversation that it goes on from. ${KEPT}`,
        params,
        querystring: Query,
        response: {
          200: exact('application/json', 'The items.', Items, {
            items: {
              object: 'list',
              data: [EXAMPLE_ITEM],
              first_id: EXAMPLE_ITEM.id,
              last_id: EXAMPLE_ITEM.id,
              has_more: false,
            },
          }),
        },
        errors: [...ERRORS, 'request_too_large'],
      },
    },
    async ({ params: { id }, query, credential }, reply) => {
      const { orgId, keepResponses } = credential;
      if (!keepResponses) throw new Fault('response_not_found');
      const read = <T>(work: (turns: readonly string[]) => T): Promise<T> =>
        kept.conversation({ orgId, id }, (turns) => {
          if (turns === null) throw new Fault('response_not_found');
          return work(turns);
        });
      // A short list is made where it is read. A long one is read again when it is its turn, so that those that wait hold no
      // conversation, and waits for a thread behind that, so that it keeps no one else from reading.
      const short = await read((turns) => (isLong(turns) ? null : inputItems(turns, query)));
      const page =
        short ??
        (await longLists.make(orgId, async () =>
          listOnThread(reading, orgId, await read((turns) => turns), query),
        ));
      return reply.type('application/json; charset=utf-8').send(page);
    },
  );
};

/** Conversations above this are listed on a thread. */
const LONG_CHARS = 64 * 1024;

function isLong(turns: readonly string[]): boolean {
  return turns.reduce((sum, { length }) => sum + length, 0) > LONG_CHARS;
}

async function listOnThread(
  reading: ReadingDeps,
  orgId: string,
  turns: readonly string[],
  page: ItemsPage,
): Promise<string> {
  const bytes = turns.reduce((sum, { length }) => sum + length, 0);
  const reader = await enterReader(reading, { bytes, orgId });
  try {
    return await reader.inputItems(turns, page);
  } finally {
    reader.leave();
  }
}
