import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { Type, type Static } from 'typebox';
import { exact, json, jsonBody } from '#api/docs/operation.ts';
import { actorOf } from '#api/plugins/authenticate.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { describeExport, EXPORT_STATUSES, type ExportRecord } from '#shared/packs/export-record.ts';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import type { ExportRegistry, ExportRequest } from '#shared/packs/postgres/exports.ts';
import { sendPack } from './pack-download.ts';
import { listOf, Listing, listSchema } from './lists.ts';
import { LogIndex, Nullable, pathId, Span, spanOf, Time } from './fields.ts';

const ExportObject = Type.Object(
  {
    object: Type.Literal('export'),
    id: Type.String(),
    status: Type.String({ enum: [...EXPORT_STATUSES] }),
    format: Type.Literal('evidence-pack'),
    first_index: LogIndex,
    last_index: LogIndex,
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

/** Bytes, to programs that read descriptions of before 3.1 as well. */
const ZIP = Type.String({ format: 'binary' });

const Body = Type.Object(
  {
    format: Type.Optional(Type.Literal('evidence-pack')),
    ...Span.properties,
    first_index: Type.Optional(LogIndex),
    last_index: Type.Optional(LogIndex),
    checkpoint_size: Type.Optional(LogIndex),
  },
  { additionalProperties: false },
);

const ID = 'exp_01JD5C2V7X8Y9Z0A1B2C3D4E5F';
const Params = pathId('Id of the export', ID);
const RECORD: ExportRecord = {
  id: ID,
  orgId: 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
  status: 'queued',
  firstIndex: 0,
  lastIndex: 1_199,
  checkpointSize: 1_200,
  done: 0,
  total: 1_200,
  sizeBytes: null,
  sha256: null,
  error: null,
  waitsBecause: null,
  createdAt: Date.UTC(2026, 10, 20, 10, 0, 0, 12),
  startedAt: null,
  finishedAt: null,
  expiresAt: null,
};
const QUEUED = describeExport(RECORD);
const READY = describeExport({
  ...RECORD,
  status: 'ready',
  done: 1_200,
  sizeBytes: 4_190_211,
  sha256: '5b8b0a9c1d2e3f405162738495a6b7c8d9eafb0c1d2e3f405162738495a6b7c8',
  startedAt: Date.UTC(2026, 10, 20, 10, 0, 0, 40),
  finishedAt: Date.UTC(2026, 10, 20, 10, 0, 0, 310),
  expiresAt: Date.UTC(2026, 10, 27, 10, 0, 0, 310),
});

const CONFIG = { scope: 'service:export' } as const;

export interface ExportRoutesOptions {
  exports: ExportRegistry;
  store: Pick<ObjectStore, 'read' | 'delete'>;
  /** Tells a free builder that an export waits; never throws, never waits. */
  start: () => void;
  /** Days for which a finished pack is kept. */
  keptDays: number;
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
        operationId: 'listExports',
        tag: 'Exports',
        summary: 'List exports',
        description: 'Your exports, newest first. Deleted ones are left out.',
        querystring: Listing,
        response: {
          200: json('A page.', listSchema(ExportObject), {
            page: listOf({ items: [READY], hasMore: false }),
          }),
        },
        errors: ['invalid_limit', 'invalid_after'],
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
        operationId: 'retrieveExport',
        tag: 'Exports',
        summary: 'Read an export',
        description: 'How far it is, and when it is ready, how large the pack is and its SHA-256.',
        params: Params,
        response: { 200: json('The export.', ExportObject, { ready: READY }) },
        errors: ['export_not_found'],
      },
    },
    async (request) => describeExport(await find(exports, request, request.params.id)),
  );
  app.get(
    '/exports/:id/download',
    {
      config: CONFIG,
      schema: {
        operationId: 'downloadExport',
        tag: 'Exports',
        summary: 'Fetch a pack',
        description:
          'The pack as a ZIP archive. One `Range` is answered, so an interrupted download can be resumed with `If-Range` and the `ETag`, which is the SHA-256 of the pack.',
        params: Params,
        requestHeaders: ['Range'],
        response: {
          200: exact('application/zip', 'The whole pack.', ZIP, {}),
          206: exact('application/zip', 'The part that was asked for.', ZIP, {}),
          304: { description: 'You have it already.' },
        },
        errors: [
          'export_not_found',
          'export_not_ready',
          'export_failed',
          'export_expired',
          'range_not_satisfiable',
        ],
      },
    },
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
        operationId: 'createExport',
        tag: 'Exports',
        summary: 'Ask for an evidence pack',
        description:
          'Queues a pack of the receipts in a range: by time of integration (`from` included, `to` excluded), by ledger index (both included), or everything. The pack leads to a signed checkpoint, the newest unless `checkpoint_size` names another; the same range at the same checkpoint gives the same bytes while it leads to the same anchor, and the export of them that was finished within the last hour. Where the service has others attest its anchor, it waits for them, three minutes at most.',
        ...jsonBody(Body, {
          'By time': {
            from: '2026-11-01T00:00:00Z',
            to: '2026-12-01T00:00:00Z',
            format: 'evidence-pack',
          },
          'By index': { first_index: 0, last_index: 1_199, format: 'evidence-pack' },
        }),
        response: { 202: json('Queued, or ready already.', ExportObject, { queued: QUEUED }) },
        errors: [
          'invalid_from',
          'invalid_first_index',
          'invalid_last_index',
          'invalid_checkpoint_size',
          'invalid_range',
          'concurrent_exports_exceeded',
        ],
      },
    },
    async (request, reply) => {
      const { orgId } = request.credential;
      const wanted = requestOf(request.body);
      const record = await exports.create(orgId, wanted, actorOf(request));
      if (record.status === 'queued') start();
      const place = request.url.replace(/\/?(?:\?.*)?$/, '');
      void reply.code(202).header('location', `${place}/${record.id}`);
      return describeExport(record);
    },
  );
  app.delete(
    '/exports/:id',
    {
      config: CONFIG,
      schema: {
        operationId: 'deleteExport',
        tag: 'Exports',
        summary: 'Cancel or delete an export',
        description:
          'A pack that is being made is given up, a finished one is deleted. The audit log keeps the record.',
        params: Params,
        response: { 204: { description: 'Gone.' } },
        errors: ['export_not_found'],
      },
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
  const { first_index, last_index, checkpoint_size } = body;
  return {
    ...spanOf(body),
    ...(first_index === undefined ? {} : { firstIndex: first_index }),
    ...(last_index === undefined ? {} : { lastIndex: last_index }),
    ...(checkpoint_size === undefined ? {} : { checkpointSize: checkpoint_size }),
  };
}
