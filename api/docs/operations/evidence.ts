import Type from 'typebox';
import type { OperationNotes } from '../operation-notes.ts';

const RECEIPT_ID = 'rcpt_01JD4Z7Q3RZ6X0T8WB5N2K9MVC';
const RECEIPT_PATH = { id: { description: 'Id of the receipt', example: RECEIPT_ID } };
const RECEIPT = `https://gateway.example/receipts/${RECEIPT_ID}`;
const METHODOLOGY = {
  id: 'docket-1',
  version: '1.0.0',
  title: 'Footprint of one AI inference request',
  digest: 'VcMvPxWRD0J2yk4GbsdznCEXkLLIBMw84oASoXHKq8w',
};

const anyObject = (description: string) =>
  Type.Object({}, { description, additionalProperties: true });

const MethodologyList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(
      Type.Object({
        id: Type.String(),
        version: Type.String(),
        title: Type.String(),
        digest: Type.String({ description: 'SHA-256 of the document’s bytes, base64url' }),
      }),
    ),
    has_more: Type.Literal(false),
  },
  { title: 'MethodologyList' },
);

const FIGURES = {
  requests: 1204,
  refused: 3,
  covered: 1198,
  uncovered: 3,
  input_tokens: 402_118,
  cached_input_tokens: 96_000,
  output_tokens: 351_902,
  energy_kwh: '0.104418229',
  gwp_kgco2e: '0.00589131202',
  water_l: '0.388120447',
  adpe_kgsbe: '0.0000000190022117',
  adpf_mj: '1.01288311',
};

/** What stands behind the figures: recalculation, lineage, methodologies, totals. */
export const EVIDENCE_OPERATIONS: Record<string, OperationNotes> = {
  'POST /v1/receipts/{id}/recalculate': {
    operationId: 'recalculateReceipt',
    tag: 'Receipts',
    summary: 'Have a degraded receipt recalculated now',
    description:
      'Degraded receipts are recalculated by themselves, later and later while the methodology fails. This makes it now. Success appends a new receipt that revises this one; it then stands among its `revisions`.',
    path: RECEIPT_PATH,
    answers: {
      202: {
        description: 'The receipt is flagged.',
        content: {
          'application/json': {
            examples: {
              recalculation: { object: 'recalculation', receipt_id: RECEIPT_ID, status: 'pending' },
            },
          },
        },
      },
    },
    errors: ['receipt_not_found', 'recalculation_pending', 'not_degraded'],
  },
  'GET /v1/receipts/{id}/lineage': {
    operationId: 'retrieveReceiptLineage',
    tag: 'Receipts',
    summary: 'Read a receipt’s lineage',
    description:
      'What the receipt pins by digest, in full: every input record with value, unit, source, year and licence, every step of the computation with its formula and number, the methodology, the software, the revisions, the place in the ledger. PROV-O, QUDT and schema.org in JSON-LD. For receipts asked for with the tier `audit_plus` or `enterprise`.',
    path: RECEIPT_PATH,
    answers: {
      200: {
        description: 'The lineage.',
        content: {
          'application/ld+json': {
            schema: anyObject('A lineage document'),
            examples: {
              lineage: {
                id: `${RECEIPT}/lineage`,
                type: ['Lineage', 'Entity'],
                about: { id: RECEIPT, type: ['Entity', 'InferenceReceipt'] },
              },
            },
          },
        },
      },
    },
    errors: ['receipt_not_found', 'lineage_not_found'],
  },
  'GET /v1/usage': {
    operationId: 'retrieveUsage',
    tag: 'Usage',
    summary: 'Read usage and footprint of a period',
    description:
      'Requests, tokens and the footprint of your organisation, by UTC day, model, region or key. Each request counts once; its footprint is that of its current receipt. Amounts are sums of medians over `covered` requests and always stand beside the count of `uncovered` ones. Sums are made in binary64 and given to nine digits. At most 366 days; the last 30 when no period is named.',
    answers: {
      200: {
        description: 'The figures.',
        content: {
          'application/json': {
            examples: {
              usage: {
                object: 'usage',
                from: '2026-11-20T00:00:00.000Z',
                to: '2026-11-21T00:00:00.000Z',
                group_by: 'day',
                data: [{ group: '2026-11-20', ...FIGURES }],
                total: FIGURES,
              },
            },
          },
        },
      },
    },
    errors: ['invalid_from', 'invalid_to', 'invalid_group_by'],
  },
  'GET /methodologies': {
    operationId: 'listMethodologies',
    tag: 'Public',
    summary: 'List methodologies',
    description: 'Every methodology that was ever released. Also at `/v1/methodologies`.',
    answers: {
      200: {
        description: 'All of them, in one page.',
        content: {
          'application/json': {
            schema: MethodologyList,
            examples: {
              methodologies: { object: 'list', data: [METHODOLOGY], has_more: false },
            },
          },
        },
      },
    },
  },
  'GET /methodologies/{id}/{version}': {
    operationId: 'retrieveMethodology',
    tag: 'Public',
    summary: 'Read a methodology',
    description:
      'The method in full, with its formulas, constants, factor set and sources: exactly the bytes whose digest receipts carry, and `ETag` repeats. What was released never changes. Also under `/v1`.',
    path: {
      id: { description: 'Id of the methodology', example: METHODOLOGY.id },
      version: { description: 'Its version', example: METHODOLOGY.version },
    },
    answers: {
      200: {
        description: 'The document.',
        content: {
          'application/json': {
            schema: anyObject('A methodology'),
            examples: {
              methodology: {
                schema: 'docket-methodology/1',
                id: METHODOLOGY.id,
                version: METHODOLOGY.version,
                title: METHODOLOGY.title,
              },
            },
          },
        },
      },
      304: { description: 'You have it: `If-None-Match` names its digest.' },
    },
    errors: ['methodology_not_found'],
  },
};
