import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { CHECKPOINT, LOSS_NOTE, RECEIPT_ID } from '#api/docs/examples/receipts.ts';
import { exact, json } from '#api/docs/operation.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { LEDGER_KINDS, type LedgerEntry } from '#shared/ledger/entries.ts';
import { encodeBase64 } from '#shared/ledger/notes.ts';
import type { DeclaredLoss } from '#shared/ledger/postgres/losses.ts';
import type { LedgerReader } from '#shared/ledger/postgres/reader.ts';
import { parseTilePath } from '#shared/ledger/tiles.ts';
import { LogIndex, Span, spanOf, tilePath } from './fields.ts';
import { listOf, Listing, listSchema } from './lists.ts';

const Query = Type.Object({
  ...Listing.properties,
  ...Span.properties,
  kind: Type.Optional(Type.Union(LEDGER_KINDS.map((kind) => Type.Literal(kind)))),
});
const Sizes = Type.Object({ from: LogIndex, to: LogIndex });

const Entry = Type.Object(
  {
    id: Type.String({ description: 'The receipt’s id: what cursors take' }),
    index: Type.Integer({ minimum: 0, description: 'Position in the log: contiguous from 0' }),
    receipt_id: Type.String(),
    kind: Type.Enum([...LEDGER_KINDS]),
    leaf_hash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'RFC 6962' }),
    integrated_at: Type.String({ format: 'date-time' }),
    supersedes: Type.Union([Type.String(), Type.Null()], {
      description: 'The receipt that this one revises',
    }),
  },
  { title: 'LedgerEntry' },
);

const ENTRY: Static<typeof Entry> = {
  id: RECEIPT_ID,
  index: 3,
  receipt_id: RECEIPT_ID,
  kind: LEDGER_KINDS[0],
  leaf_hash: '9f91161f43433e49a6de6db680d79f60159f2e4ac9172621a12846428158440b',
  integrated_at: '2026-11-20T09:38:07.412Z',
  supersedes: null,
};

const Loss = Type.Object(
  {
    tree: Type.Integer({ minimum: 2, description: 'The number of the tree that was opened' }),
    published_size: Type.Integer({
      minimum: 0,
      description: 'Entries of the last head that was published before',
    }),
    kept_size: Type.Integer({ minimum: 0, description: 'Entries with which the tree begins' }),
    declared_at: Type.String({ format: 'date-time' }),
    reason: Type.String(),
    statement: Type.String({ description: 'The signed note, which says all of it' }),
  },
  { title: 'LedgerLoss' },
);
const Losses = Type.Object({ object: Type.Literal('list'), data: Type.Array(Loss) });

const LOSS: Static<typeof Loss> = {
  tree: 2,
  published_size: 1_234,
  kept_size: 1_200,
  declared_at: '2026-11-20T09:38:07.412Z',
  reason: 'the disk failed, and the standby lagged',
  statement: LOSS_NOTE,
};

const CONFIG = { scope: 'service:read' } as const;
/** A full tile never changes. A partial one may be replaced by a fuller one, under another name. */
const TILE_CACHE = 'private, max-age=31536000, immutable';

export interface LedgerRoutesOptions {
  ledger: LedgerReader;
}

/** The organisation's own log: its entries, its newest signed head, its tiles. */
export const ledgerRoutes: FastifyPluginAsyncTypebox<LedgerRoutesOptions> = async (
  app,
  { ledger },
) => {
  app.get(
    '/ledger/entries',
    {
      config: CONFIG,
      schema: {
        operationId: 'listLedgerEntries',
        tag: 'Ledger',
        summary: 'List ledger entries',
        description: 'The entries of your log. Contiguous indexes show that none is missing.',
        querystring: Query,
        response: {
          200: json('A page.', listSchema(Entry), {
            page: listOf({ items: [ENTRY], hasMore: false }),
          }),
        },
        errors: ['invalid_limit', 'invalid_after', 'invalid_from', 'invalid_to'],
      },
    },
    async (request) => {
      const { from, to, ...rest } = request.query;
      const { orgId } = request.credential;
      const page = await ledger.listEntries({ orgId, ...rest, ...spanOf({ from, to }) });
      return listOf({ ...page, items: page.items.map(describe) });
    },
  );
  app.get(
    '/ledger/checkpoint',
    {
      config: CONFIG,
      schema: {
        operationId: 'retrieveLedgerCheckpoint',
        tag: 'Ledger',
        summary: 'Read the newest checkpoint',
        description: 'The newest signed head of your log, as a C2SP checkpoint.',
        response: {
          200: exact('text/plain', 'A signed note.', Type.String(), { checkpoint: CHECKPOINT }),
        },
        errors: ['checkpoint_not_found'],
      },
    },
    async (request, reply) => {
      const checkpoint = await ledger.checkpoint(request.credential.orgId);
      if (checkpoint === null) throw new Fault('checkpoint_not_found');
      return reply
        .type('text/plain; charset=utf-8')
        .header('cache-control', 'no-cache')
        .send(checkpoint);
    },
  );
  app.get(
    '/ledger/losses',
    {
      config: CONFIG,
      schema: {
        operationId: 'listLedgerLosses',
        tag: 'Ledger',
        summary: 'List declared losses',
        description:
          'What the service has declared of your log, oldest first: that entries were published and are lost, because its database was put back to an older state. Each statement closes one tree of the log and opens its successor, whose checkpoints have its number behind the name of the log. Most logs have none.',
        response: {
          200: json('All of them.', Losses, {
            none: { object: 'list', data: [] },
            one: { object: 'list', data: [LOSS] },
          }),
        },
      },
    },
    async (request): Promise<Static<typeof Losses>> => {
      const losses = await ledger.losses(request.credential.orgId);
      return { object: 'list', data: losses.map(describeLoss) };
    },
  );
  await app.register(treeRoutes, { ledger });
};

/** Routes by which a caller rebuilds the root of the log, and proves that it has only grown. */
const treeRoutes: FastifyPluginAsyncTypebox<LedgerRoutesOptions> = async (app, { ledger }) => {
  app.get(
    '/ledger/tile/*',
    {
      config: CONFIG,
      schema: {
        operationId: 'retrieveLedgerTile',
        tag: 'Ledger',
        summary: 'Read a tile of the log',
        description: 'The hashes of your log as C2SP tlog-tiles, for those who rebuild its root.',
        wildcard: 'path',
        params: tilePath('0/000.p/4'),
        response: {
          200: exact('application/octet-stream', '32 bytes for each hash.', Type.Unsafe({}), {}),
        },
        errors: ['tile_not_found'],
      },
    },
    async (request, reply) => {
      const tile = parseTilePath(request.params['*']);
      const bytes = tile === null ? null : await ledger.tile(request.credential.orgId, tile);
      if (bytes === null) throw new Fault('tile_not_found');
      return reply
        .type('application/octet-stream')
        .header('cache-control', TILE_CACHE)
        .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    },
  );
  app.get(
    '/ledger/consistency',
    {
      config: CONFIG,
      schema: {
        operationId: 'retrieveLedgerConsistency',
        tag: 'Ledger',
        summary: 'Prove that the log has only grown',
        description:
          'The RFC 6962 consistency proof from one published size of your log to another: a base64 hash a line, as C2SP tlog-witness writes it. Nothing to send between equal sizes or from zero.',
        querystring: Sizes,
        response: {
          200: exact('text/plain', 'The hashes.', Type.String(), {
            hashes: 'SBNJTRN+FjG7owHVrKtue7eqdM4RhdRWVl71HXN2d7I=\n',
          }),
        },
        errors: ['consistency_proof_not_found', 'invalid_from'],
      },
    },
    async (request, reply) => {
      const { from, to } = request.query;
      if (from > to) throw invalidParam('from', '`from` is the size of the older tree.');
      const hashes = await ledger.consistency(request.credential.orgId, from, to);
      if (hashes === null) throw new Fault('consistency_proof_not_found');
      // Two published sizes always give the same.
      return reply
        .type('text/plain; charset=utf-8')
        .header('cache-control', TILE_CACHE)
        .send(hashes.map((hash) => `${encodeBase64(hash)}\n`).join(''));
    },
  );
};

function describeLoss({ note, statement: loss }: DeclaredLoss): Static<typeof Loss> {
  return {
    tree: loss.generation,
    published_size: loss.published.size,
    kept_size: loss.kept.size,
    declared_at: loss.at,
    reason: loss.reason,
    statement: note,
  };
}

/** The id that cursors use is the receipt's: pages of the SDK take `after=<last id>`. */
function describe(entry: LedgerEntry): Static<typeof Entry> {
  return {
    id: entry.receiptId,
    index: entry.index,
    receipt_id: entry.receiptId,
    kind: entry.kind,
    leaf_hash: Buffer.from(entry.leafHash).toString('hex'),
    integrated_at: new Date(entry.integratedAt).toISOString(),
    supersedes: entry.supersedes,
  };
}
