import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { encodeBase64 } from '#shared/ledger/notes.ts';
import { parseTilePath } from '#shared/ledger/tiles.ts';
import { LEDGER_KINDS, type LedgerEntry } from '#shared/ledger/entries.ts';
import type { LedgerReader } from '#shared/ledger/postgres/reader.ts';
import { Listing } from './lists.ts';
import { timeOf, TimeText } from './times.ts';

const Query = Type.Object({
  ...Listing.properties,
  from: Type.Optional(TimeText),
  to: Type.Optional(TimeText),
  kind: Type.Optional(Type.Union(LEDGER_KINDS.map((kind) => Type.Literal(kind)))),
});

const TreeSize = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Sizes = Type.Object({ from: TreeSize, to: TreeSize });

const CONFIG = { scope: 'service:read' } as const;
const TAGS = ['Ledger'];
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
    { config: CONFIG, schema: { tags: TAGS, summary: 'List ledger entries', querystring: Query } },
    async (request) => {
      const { from, to, ...rest } = request.query;
      const page = await ledger.listEntries({
        orgId: request.credential.orgId,
        ...rest,
        ...(from === undefined ? {} : { from: timeOf('from', from) }),
        ...(to === undefined ? {} : { to: timeOf('to', to) }),
      });
      return {
        object: 'list',
        data: page.items.map(describe),
        first_id: page.items[0]?.receiptId ?? null,
        last_id: page.items.at(-1)?.receiptId ?? null,
        has_more: page.hasMore,
      };
    },
  );
  app.get(
    '/ledger/checkpoint',
    { config: CONFIG, schema: { tags: TAGS, summary: 'The newest signed checkpoint (C2SP)' } },
    async (request, reply) => {
      const checkpoint = await ledger.checkpoint(request.credential.orgId);
      if (checkpoint === null) throw new Fault('checkpoint_not_found');
      return reply
        .type('text/plain; charset=utf-8')
        .header('cache-control', 'no-cache')
        .send(checkpoint);
    },
  );
  addTiles(app, ledger);
  addConsistency(app, ledger);
};

function addTiles(app: FastifyInstance, ledger: LedgerReader): void {
  app.get(
    '/ledger/tile/*',
    { config: CONFIG, schema: { tags: TAGS, summary: 'A tile of the log (C2SP tlog-tiles)' } },
    async (request, reply) => {
      const tile = parseTilePath((request.params as { '*': string })['*']);
      const bytes = tile === null ? null : await ledger.tile(request.credential.orgId, tile);
      if (bytes === null) throw new Fault('tile_not_found');
      return reply
        .type('application/octet-stream')
        .header('cache-control', TILE_CACHE)
        .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    },
  );
}

function addConsistency(app: FastifyInstance, ledger: LedgerReader): void {
  app.get<{ Querystring: Static<typeof Sizes> }>(
    '/ledger/consistency',
    {
      config: CONFIG,
      schema: {
        tags: TAGS,
        summary: 'The proof that one tree of the log is a prefix of another (RFC 6962)',
        querystring: Sizes,
      },
    },
    async (request, reply) => {
      const { from, to } = request.query;
      if (from > to) throw invalidParam('from', '`from` is the size of the older tree.');
      const hashes = await ledger.consistency(request.credential.orgId, from, to);
      if (hashes === null) throw new Fault('consistency_proof_not_found');
      // One base64 hash a line, as C2SP tlog-witness writes such a proof; two published sizes always give the same.
      return reply
        .type('text/plain; charset=utf-8')
        .header('cache-control', TILE_CACHE)
        .send(hashes.map((hash) => `${encodeBase64(hash)}\n`).join(''));
    },
  );
}

/** The id that cursors use is the receipt's: pages of the SDK take `after=<last id>`. */
function describe(entry: LedgerEntry) {
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
