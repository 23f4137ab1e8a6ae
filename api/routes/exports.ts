import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { Type, type Static } from 'typebox';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { describeExport, EXPORT_STATUSES, type ExportRecord } from '#shared/packs/export-record.ts';
import type { ExportStore } from '#shared/packs/export-store.ts';
import type { ExportRegistry, ExportRequest } from '#shared/packs/postgres/exports.ts';
import { sendPack } from './send-pack.ts';
import { listOf, Listing, listSchema } from './lists.ts';
import { timeOf, TimeText } from './times.ts';

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);
const Index = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Time = Type.String({ description: 'RFC 3339, UTC' });

const ExportObject = Type.Object(
  {
    object: Type.Literal('export'),
    id: Type.String(),
    status: Type.String({ enum: [...EXPORT_STATUSES] }),
    format: Type.Literal('evidence-pack'),
    first_index: Index,
    last_index: Index,
    checkpoint_size: Type.Integer({
      description: 'Entries of the ledger at the signed checkpoint that the pack leads to',
    }),
    progress: Type.Object({
      done: Type.Integer({ description: 'Receipts written so far' }),
      total: Type.Integer(),
    }),
    file_name: Type.String(),
    size_bytes: Nullable(Type.Integer()),
    sha256: Nullable(Type.String({ description: 'Of the pack, hexadecimal' })),
    error: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
    created_at: Time,
    started_at: Nullable(Time),
    finished_at: Nullable(Time),
    expires_at: Nullable(Time),
  },
  { title: 'Export' },
);

const Body = Type.Object(
  {
    format: Type.Optional(Type.Literal('evidence-pack')),
    from: Type.Optional(TimeText),
    to: Type.Optional(TimeText),
    first_index: Type.Optional(Index),
    last_index: Type.Optional(Index),
    checkpoint_size: Type.Optional(Index),
  },
  { additionalProperties: false },
);

const Params = Type.Object({ id: Type.String({ maxLength: 64 }) });
const CONFIG = { scope: 'service:export' } as const;
const TAGS = ['Exports'];

export interface ExportRoutesOptions {
  exports: ExportRegistry;
  store: Pick<ExportStore, 'read' | 'delete'>;
  /** Hands a new export to whoever is free; never throws, never waits. */
  start: (exportId: string) => void;
  /** The store failed where no caller has to know. */
  onStoreError: (error: Error) => void;
}

/** Evidence packs: asked for, watched, fetched, deleted. */
export const exportRoutes: FastifyPluginAsyncTypebox<ExportRoutesOptions> = async (
  app,
  options,
) => {
  await app.register(readingRoutes, options);
  await app.register(changingRoutes, options);
};

async function find(
  exports: Pick<ExportRegistry, 'get'>,
  request: FastifyRequest,
  id: string,
): Promise<ExportRecord> {
  const record = await exports.get(request.credential.orgId, id);
  if (record === null) throw new Fault('export_not_found');
  return record;
}

const readingRoutes: FastifyPluginAsyncTypebox<ExportRoutesOptions> = async (
  app,
  { exports, store },
) => {
  app.get(
    '/exports',
    {
      config: CONFIG,
      schema: {
        tags: TAGS,
        summary: 'List exports',
        querystring: Listing,
        response: { 200: listSchema(ExportObject) },
      },
    },
    async (request) => {
      const orgId = request.credential.orgId;
      const page = await exports.list({ orgId, ...request.query });
      return listOf({ ...page, items: page.items.map(describeExport) });
    },
  );
  app.get(
    '/exports/:id',
    {
      config: CONFIG,
      schema: {
        tags: TAGS,
        summary: 'One export',
        params: Params,
        response: { 200: ExportObject },
      },
    },
    async (request) => describeExport(await find(exports, request, request.params.id)),
  );
  app.get(
    '/exports/:id/download',
    { config: CONFIG, schema: { tags: TAGS, summary: 'The pack', params: Params } },
    async (request, reply) => {
      const record = await find(exports, request, request.params.id);
      const onDownload = () => exports.downloaded(record, actorOf(request));
      return sendPack(request, reply, record, { store, onDownload });
    },
  );
};

const changingRoutes: FastifyPluginAsyncTypebox<ExportRoutesOptions> = async (
  app,
  { exports, store, start, onStoreError },
) => {
  app.post(
    '/exports',
    {
      config: CONFIG,
      schema: {
        tags: TAGS,
        summary: 'Ask for an evidence pack',
        body: Body,
        response: { 202: ExportObject },
      },
    },
    async (request, reply) => {
      const { orgId } = request.credential;
      const wanted = requestOf(request.body);
      const record = await exports.create(orgId, wanted, actorOf(request));
      start(record.id);
      void reply.code(202).header('location', `/v1/exports/${record.id}`);
      return describeExport(record);
    },
  );
  app.delete(
    '/exports/:id',
    {
      config: CONFIG,
      schema: { tags: TAGS, summary: 'Cancel or delete an export', params: Params },
    },
    async (request, reply) => {
      const { id } = request.params;
      const record = await find(exports, request, id);
      const deleted = await exports.delete(record.orgId, id, actorOf(request));
      if (!deleted) throw new Fault('export_not_found');
      // A run that is under way removes what it writes itself; what is left here, the next sweep removes.
      if (record.status === 'ready') await store.delete(id).catch(onStoreError);
      return reply.code(204).send();
    },
  );
};

function requestOf(body: Static<typeof Body>): ExportRequest {
  const { from, to, first_index, last_index, checkpoint_size } = body;
  return {
    ...(from === undefined ? {} : { from: timeOf('from', from) }),
    ...(to === undefined ? {} : { to: timeOf('to', to) }),
    ...(first_index === undefined ? {} : { firstIndex: first_index }),
    ...(last_index === undefined ? {} : { lastIndex: last_index }),
    ...(checkpoint_size === undefined ? {} : { checkpointSize: checkpoint_size }),
  };
}

function actorOf(request: FastifyRequest): Actor {
  return { kind: 'key', id: request.credential.keyId, address: request.ip };
}
