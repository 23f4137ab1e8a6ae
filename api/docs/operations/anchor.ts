import Type from 'typebox';
import { KEY_PURPOSES } from '#shared/ledger/key-events.ts';
import example from '../examples/anchor.json' with { type: 'json' };
import type { OperationNotes } from '../operation-notes.ts';

const Base64 = Type.String({ contentEncoding: 'base64' });

const AnchorProof = Type.Object(
  {
    object: Type.Literal('anchor_proof'),
    checkpoint: Type.String({ description: 'The signed checkpoint of your log' }),
    slot: Type.Integer({ minimum: 0, maximum: 1_048_575, description: 'Yours for ever' }),
    salt: Base64,
    path: Type.Array(Base64, {
      minItems: 20,
      maxItems: 20,
      description: 'From leaf to heads root',
    }),
    entry: Type.String({ description: 'The exact text of the entry in the anchor log' }),
    proof: Type.String({ description: 'C2SP tlog-proof of that entry' }),
    timestamps: Type.Array(
      Type.Object({
        authority: Type.String(),
        time: Type.String({ format: 'date-time' }),
        response: Base64,
      }),
      { description: 'RFC 3161, over the text of the anchor checkpoint in `proof`' },
    ),
  },
  { title: 'AnchorProof' },
);

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

const text = (name: string, value: string) => ({
  'text/plain': { schema: Type.String(), examples: { [name]: value } },
});

/** How logs hang together: consistency, the anchor, the keys that sign. */
export const ANCHOR_OPERATIONS: Record<string, OperationNotes> = {
  'GET /v1/ledger/consistency': {
    operationId: 'retrieveLedgerConsistency',
    tag: 'Ledger',
    summary: 'Prove that the log has only grown',
    description:
      'The RFC 6962 consistency proof from one published size of your log to another: a base64 hash a line, as C2SP tlog-witness writes it. Nothing to send between equal sizes or from zero.',
    answers: {
      200: {
        description: 'The hashes.',
        content: text('hashes', 'SBNJTRN+FjG7owHVrKtue7eqdM4RhdRWVl71HXN2d7I=\n'),
      },
    },
    errors: ['consistency_proof_not_found', 'invalid_from'],
  },
  'GET /v1/ledger/anchor': {
    operationId: 'retrieveAnchorProof',
    tag: 'Ledger',
    summary: 'Prove that everyone was shown the same log',
    description:
      'Leads from a checkpoint of your log to a checkpoint of the one anchor log, which is public, and timestamped and cosigned where that is configured. `head_size_max`, `before` and `anchor_size` choose an older one; `attested` asks for one that somebody else has attested.',
    answers: {
      200: {
        description: 'The proof.',
        content: {
          'application/json': { schema: AnchorProof, examples: { proof: example.proof } },
        },
      },
    },
    errors: ['anchor_proof_not_found'],
  },
  'GET /v1/ledger/key-events': {
    operationId: 'listKeyEvents',
    tag: 'Ledger',
    summary: 'List what happened to signing keys',
    description:
      'Every key that was added, retired or compromised, from the anchor log, in its order. A receipt is good only if it was anchored while its key was.',
    answers: {
      200: {
        description: 'All events.',
        content: {
          'application/json': {
            schema: Type.Object({ object: Type.Literal('list'), data: Type.Array(KeyEvent) }),
            examples: { events: { object: 'list', data: [example.keyEvent] } },
          },
        },
      },
    },
  },
  'GET /anchor/checkpoint': {
    operationId: 'retrieveAnchorCheckpoint',
    tag: 'Public',
    summary: 'Read the newest checkpoint of the anchor log',
    description: 'A C2SP checkpoint, with the cosignatures of witnesses.',
    answers: {
      200: { description: 'A signed note.', content: text('note', example.anchorCheckpoint) },
    },
    errors: ['checkpoint_not_found'],
  },
  'GET /anchor/tile/{path}': {
    operationId: 'retrieveAnchorTile',
    tag: 'Public',
    summary: 'Read a tile of the anchor log',
    description: 'Its hashes, and under `entries` its entries, as C2SP tlog-tiles.',
    path: {
      path: {
        description: 'Level, index and width, as tlog-tiles names them',
        example: 'entries/000.p/2',
      },
    },
    answers: {
      200: {
        description: 'The tile.',
        content: { 'application/octet-stream': { schema: Type.Unsafe({}), examples: {} } },
      },
    },
    errors: ['tile_not_found'],
  },
};
