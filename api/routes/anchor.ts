import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import example from '#api/docs/examples/anchor.json' with { type: 'json' };
import { exact, json } from '#api/docs/operation.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { formatAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { KEY_PURPOSES } from '#shared/ledger/key-events.ts';
import type { AnchorReader, ProvenKeyEvent } from '#shared/ledger/postgres/anchor-reader.ts';
import { parseTilePath } from '#shared/ledger/tiles.ts';
import { anchorChoice, AnchorProof, AnchorQuery, PROOF } from './anchor-fields.ts';
import { tilePath } from './fields.ts';
import { keptFor, keptSince } from './kept.ts';

const KeyEvent = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: 'Place in the anchor log' }),
    event: Type.Enum(['added', 'retired', 'compromised']),
    key: Type.String({ description: 'The key’s id' }),
    purpose: Type.Enum([...KEY_PURPOSES]),
    at: Type.String({ format: 'date-time' }),
    from: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Of a compromise: what was anchored at this index or later is not vouched for',
    }),
    entry: Type.String({ description: 'The exact text of the entry' }),
    proof: Type.Union([Type.String(), Type.Null()], {
      description: 'C2SP tlog-proof; null for a few seconds',
    }),
  },
  { title: 'KeyEvent' },
);
const KeyEvents = Type.Object({ object: Type.Literal('list'), data: Type.Array(KeyEvent) });
const KEY_EVENT: Static<typeof KeyEvent> = {
  ...example.keyEvent,
  event: 'added',
  purpose: 'anchor',
};

/** Verifiers run in browsers too. */
const OPEN = { 'access-control-allow-origin': '*' };
/** What the public may read is read once for all, so that asking for it costs no statement each time. */
const CHECKPOINT_KEPT_MS = 1_000;
const KEY_EVENTS_KEPT_MS = 5_000;
const TILE_CACHE = 'public, max-age=31536000, immutable';

export interface AnchorRoutesOptions {
  anchor: AnchorReader;
}

/** The anchor log's entries about the caller's own log, and about the keys that sign. */
export const anchorRoutes: FastifyPluginAsyncTypebox<AnchorRoutesOptions> = async (
  app,
  { anchor },
) => {
  const keyEvents = keptFor(
    KEY_EVENTS_KEPT_MS,
    () => anchor.keyEvents(),
    // The first event is to be seen as soon as it is there.
    (events) => events.length > 0,
  );
  app.get(
    '/ledger/anchor',
    {
      config: { scope: 'service:read' },
      schema: {
        operationId: 'retrieveAnchorProof',
        tag: 'Ledger',
        summary: 'Prove that everyone was shown the same log',
        description:
          'Leads from a checkpoint of your log to a checkpoint of the one anchor log, which is public, and timestamped and cosigned where that is configured. `head_size_max`, `before` and `anchor_size` choose an older one; `attested` asks for one that someone else has attested.',
        querystring: AnchorQuery,
        response: {
          200: exact('application/json', 'The proof.', AnchorProof, { proof: PROOF }),
        },
        errors: ['anchor_proof_not_found'],
      },
    },
    async (request, reply) => {
      const proof = await anchor.proof(request.credential.orgId, anchorChoice(request.query));
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
      schema: {
        operationId: 'listKeyEvents',
        tag: 'Ledger',
        summary: 'List what happened to signing keys',
        description:
          'Every key that was added, retired or compromised, from the anchor log, in its order. A receipt is good only if it was anchored while its key was.',
        response: {
          200: json('All events.', KeyEvents, {
            events: { object: 'list', data: [KEY_EVENT] },
          }),
        },
      },
    },
    async (_request, reply) => {
      const events = await keyEvents();
      void reply.headers({ ...OPEN, 'cache-control': 'public, max-age=10' });
      return { object: 'list' as const, data: events.map(describe) };
    },
  );
};

function describe({ index, event, entry, proof }: ProvenKeyEvent): Static<typeof KeyEvent> {
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

/** The anchor log, public and under its own name: C2SP clients take `<host>/anchor` as its prefix. */
export const publicAnchorRoutes: FastifyPluginAsyncTypebox<AnchorRoutesOptions> = async (
  app,
  { anchor },
) => {
  const config = { scope: 'public' } as const;
  const newest = keptFor(
    CHECKPOINT_KEPT_MS,
    () => anchor.checkpoint(),
    (checkpoint) => checkpoint !== null,
  );
  app.get(
    '/anchor/checkpoint',
    {
      config,
      schema: {
        operationId: 'retrieveAnchorCheckpoint',
        tag: 'Public',
        summary: 'Read the newest checkpoint of the anchor log',
        description: 'A C2SP checkpoint, with the cosignatures of witnesses.',
        response: {
          200: exact('text/plain', 'A signed note.', Type.String(), {
            note: example.anchorCheckpoint,
          }),
        },
        errors: ['checkpoint_not_found'],
      },
    },
    async (_request, reply) => {
      const checkpoint = await newest();
      if (checkpoint === null) throw new Fault('checkpoint_not_found');
      return reply
        .type('text/plain; charset=utf-8')
        .headers({ ...OPEN, 'cache-control': 'no-cache' })
        .send(checkpoint);
    },
  );
  // Another process may have shown a newer checkpoint a moment ago, so what was read before a request came says nothing.
  const size = keptSince(() => anchor.size());
  app.get(
    '/anchor/tile/*',
    {
      config,
      schema: {
        operationId: 'retrieveAnchorTile',
        tag: 'Public',
        summary: 'Read a tile of the anchor log',
        description: 'Its hashes, and under `entries` its entries, as C2SP tlog-tiles.',
        wildcard: 'path',
        params: tilePath('entries/000.p/2'),
        response: { 200: exact('application/octet-stream', 'The tile.', Type.Unsafe({}), {}) },
        errors: ['tile_not_found'],
      },
    },
    async (request, reply) => {
      const tile = parseTilePath(request.params['*']);
      const bytes = tile === null ? null : await anchor.tile(tile, await size(request.arrivedAt));
      if (bytes === null) throw new Fault('tile_not_found');
      return reply
        .type('application/octet-stream')
        .headers({ ...OPEN, 'cache-control': TILE_CACHE })
        .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    },
  );
};
