import Type from 'typebox';
import { LEDGER_KINDS } from '#shared/ledger/entries.ts';
import { ModelObject } from '#api/openai/models.ts';
import { listSchema } from '#api/routes/lists.ts';
import { RECEIPT } from '../examples/receipts.ts';
import type { OperationNotes } from '../operation-notes.ts';
import { ModelList, ReceiptList } from '../schemas/answers.ts';
import { Receipt } from '../schemas/receipt.ts';

const RECEIPT_ID = 'rcpt_01JD4Z7Q3RZ6X0T8WB5N2K9MVC';
const RECEIPT_PATH = { id: { description: 'Id of the receipt', example: RECEIPT_ID } };

const MODEL = {
  id: 'llama-3.1-8b',
  object: 'model',
  created: 1_721_692_800,
  owned_by: 'meta',
  context_window: 131_072,
  modalities: ['text'],
  kinds: ['chat', 'completion'],
  max_n: 8,
  regions: ['eu-west', 'eu-north', 'us-east'],
  tiers: ['audit', 'audit_plus', 'enterprise'],
  footprint: { source: 'factor_set', confidence: 'published' },
};

const LedgerEntry = Type.Object(
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

const receiptList = (...data: object[]) => ({
  object: 'list',
  data,
  first_id: RECEIPT_ID,
  last_id: RECEIPT_ID,
  has_more: false,
});

const PROOF_TEXT = `c2sp.org/tlog-proof@v1
index 3
ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=
PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0=

gateway.example/log/org_01JD0A8N5K3M7Q2T9VXB4C6DEF
4
SBNJTRN+FjG7owHVrKtue7eqdM4RhdRWVl71HXN2d7I=

— gateway.example/log/org_01JD0A8N5K3M7Q2T9VXB4C6DEF glTDKQBz7CZtT7Stvz0QSqcU+fEQMv2KttiCn8QLUshvZIXXkozC69Rkbz/j83S+EdkFv0vidfqG84idgqn33F5B3TI=
`;
const CHECKPOINT_TEXT = PROOF_TEXT.split('\n\n').slice(1).join('\n\n');

export const RECORD_OPERATIONS: Record<string, OperationNotes> = {
  'GET /v1/models': {
    operationId: 'listModels',
    tag: 'Models',
    summary: 'List models',
    description: 'The models that your account may use, with what the gateway knows of them.',
    answers: {
      200: {
        description: 'All of them, in one page.',
        content: {
          'application/json': {
            schema: ModelList,
            examples: { models: { object: 'list', data: [MODEL] } },
          },
        },
      },
    },
  },
  'GET /v1/models/{id}': {
    operationId: 'retrieveModel',
    tag: 'Models',
    summary: 'Read a model',
    description: 'One model. Its id may contain slashes, escaped or not.',
    path: { id: { description: 'Id of the model', example: MODEL.id } },
    answers: {
      200: {
        description: 'The model.',
        content: { 'application/json': { schema: ModelObject, examples: { model: MODEL } } },
      },
    },
    errors: ['model_not_found'],
  },
  'GET /v1/receipts': {
    operationId: 'listReceipts',
    tag: 'Receipts',
    summary: 'List receipts',
    description: 'Your receipts, newest first. Each is its exact bytes.',
    answers: {
      200: {
        description: 'A page.',
        content: {
          'application/json': {
            schema: ReceiptList,
            examples: { page: receiptList(RECEIPT) },
          },
        },
      },
    },
    errors: ['invalid_limit', 'invalid_after', 'invalid_from'],
  },
  'GET /v1/receipts/{id}': {
    operationId: 'retrieveReceipt',
    tag: 'Receipts',
    summary: 'Read a receipt',
    description:
      'The original receipt: exactly the bytes that were signed, logged and sent. When it was recalculated, `Link` names its successor.',
    path: RECEIPT_PATH,
    answers: {
      200: {
        description: 'The receipt.',
        headers: ['link'],
        content: { 'application/json': { schema: Receipt, examples: { receipt: RECEIPT } } },
      },
    },
    errors: ['receipt_not_found'],
  },
  'GET /v1/receipts/{id}/revisions': {
    operationId: 'listReceiptRevisions',
    tag: 'Receipts',
    summary: 'List a receipt’s revisions',
    description: 'The whole chain that the receipt belongs to, oldest first.',
    path: RECEIPT_PATH,
    answers: {
      200: {
        description: 'The chain, in one page.',
        content: {
          'application/json': { schema: ReceiptList, examples: { chain: receiptList(RECEIPT) } },
        },
      },
    },
    errors: ['receipt_not_found'],
  },
  'GET /v1/receipts/{id}/proof': {
    operationId: 'retrieveReceiptProof',
    tag: 'Receipts',
    summary: 'Prove that a receipt is in the ledger',
    description:
      'A C2SP tlog-proof: the path from the receipt to a signed checkpoint of your log. A receipt gets there within ten seconds.',
    path: RECEIPT_PATH,
    answers: {
      200: {
        description: 'The proof.',
        content: { 'text/plain': { schema: Type.String(), examples: { proof: PROOF_TEXT } } },
      },
    },
    errors: ['receipt_not_found', 'proof_not_ready'],
  },
  'GET /v1/ledger/entries': {
    operationId: 'listLedgerEntries',
    tag: 'Ledger',
    summary: 'List ledger entries',
    description: 'The entries of your log. Contiguous indexes show that none is missing.',
    answers: {
      200: {
        description: 'A page.',
        content: {
          'application/json': {
            schema: listSchema(LedgerEntry),
            examples: {
              page: {
                object: 'list',
                data: [
                  {
                    id: RECEIPT_ID,
                    index: 3,
                    receipt_id: RECEIPT_ID,
                    kind: LEDGER_KINDS[0],
                    leaf_hash: '9f91161f43433e49a6de6db680d79f60159f2e4ac9172621a12846428158440b',
                    integrated_at: '2026-11-20T09:38:07.412Z',
                    supersedes: null,
                  },
                ],
                first_id: RECEIPT_ID,
                last_id: RECEIPT_ID,
                has_more: false,
              },
            },
          },
        },
      },
    },
    errors: ['invalid_limit', 'invalid_after', 'invalid_from'],
  },
  'GET /v1/ledger/checkpoint': {
    operationId: 'retrieveLedgerCheckpoint',
    tag: 'Ledger',
    summary: 'Read the newest checkpoint',
    description: 'The newest signed head of your log, as a C2SP checkpoint.',
    answers: {
      200: {
        description: 'A signed note.',
        content: {
          'text/plain': { schema: Type.String(), examples: { checkpoint: CHECKPOINT_TEXT } },
        },
      },
    },
    errors: ['checkpoint_not_found'],
  },
  'GET /v1/ledger/tile/{path}': {
    operationId: 'retrieveLedgerTile',
    tag: 'Ledger',
    summary: 'Read a tile of the log',
    description: 'The hashes of your log as C2SP tlog-tiles, for those who rebuild its root.',
    path: {
      path: {
        description: 'Level, index and width, as tlog-tiles names them',
        example: '0/000.p/4',
      },
    },
    answers: {
      200: {
        description: '32 bytes for each hash.',
        content: { 'application/octet-stream': { schema: Type.Unsafe({}), examples: {} } },
      },
    },
    errors: ['tile_not_found'],
  },
};
