import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { Fault } from '#shared/kernel/errors.ts';
import { formatAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { parseTilePath } from '#shared/ledger/tiles.ts';
import type { AnchorReader, ProvenKeyEvent } from '#shared/ledger/postgres/anchor-reader.ts';

const Index = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Choice = Type.Object({
  head_size_max: Type.Optional(Index),
  before: Type.Optional(Index),
  anchor_size: Type.Optional(Index),
  attested: Type.Boolean({ default: false }),
});

const LEDGER = ['Ledger'];
const PUBLIC = ['Public'];
/** Verifiers run in browsers too. */
const OPEN = { 'access-control-allow-origin': '*' };
const TILE_CACHE = 'public, max-age=31536000, immutable';

export interface AnchorRoutesOptions {
  anchor: AnchorReader;
}

/** What the anchor log says of the caller's own log, and of the keys that sign. */
export const anchorRoutes: FastifyPluginAsyncTypebox<AnchorRoutesOptions> = async (
  app,
  { anchor },
) => {
  app.get(
    '/ledger/anchor',
    {
      config: { scope: 'service:read' },
      schema: { tags: LEDGER, summary: 'The anchor proof of the log', querystring: Choice },
    },
    async (request, reply) => {
      const {
        head_size_max: headSizeMax,
        before,
        anchor_size: anchorSize,
        attested,
      } = request.query;
      const proof = await anchor.proof(request.credential.orgId, {
        attested,
        ...(headSizeMax === undefined ? {} : { headSizeMax }),
        ...(before === undefined ? {} : { before }),
        ...(anchorSize === undefined ? {} : { anchorSize }),
      });
      if (proof === null) throw new Fault('anchor_proof_not_found');
      return reply
        .type('application/json; charset=utf-8')
        .header('cache-control', 'no-cache')
        .send(formatAnchorProof(proof));
    },
  );
  app.get(
    '/ledger/key-events',
    {
      config: { scope: 'public' },
      schema: { tags: LEDGER, summary: 'What happened to signing keys, with proofs' },
    },
    async (_request, reply) => {
      const events = await anchor.keyEvents();
      return reply
        .headers({ ...OPEN, 'cache-control': 'public, max-age=10' })
        .send({ object: 'list', data: events.map(describe) });
    },
  );
};

function describe({ index, event, entry, proof }: ProvenKeyEvent) {
  const { event: what, key, purpose, at } = event;
  return {
    index,
    event: what,
    key,
    purpose,
    at,
    from: event.event === 'compromised' ? event.from : null,
    entry,
    proof,
  };
}

/** The anchor log for the whole world, under its own name: C2SP clients take `<host>/anchor` as its prefix. */
export function publicAnchor(app: FastifyInstance, { anchor }: AnchorRoutesOptions): void {
  const config = { scope: 'public' } as const;
  app.get(
    '/anchor/checkpoint',
    { config, schema: { tags: PUBLIC, summary: 'The newest checkpoint of the anchor log (C2SP)' } },
    async (_request, reply) => {
      const checkpoint = await anchor.checkpoint();
      if (checkpoint === null) throw new Fault('checkpoint_not_found');
      return reply
        .type('text/plain; charset=utf-8')
        .headers({ ...OPEN, 'cache-control': 'no-cache' })
        .send(checkpoint);
    },
  );
  app.get<{ Params: { '*': string } }>(
    '/anchor/tile/*',
    { config, schema: { tags: PUBLIC, summary: 'A tile of the anchor log (C2SP tlog-tiles)' } },
    async (request, reply) => {
      const tile = parseTilePath(request.params['*']);
      const bytes = tile === null ? null : await anchor.tile(tile);
      if (bytes === null) throw new Fault('tile_not_found');
      return reply
        .type('application/octet-stream')
        .headers({ ...OPEN, 'cache-control': TILE_CACHE })
        .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    },
  );
}
