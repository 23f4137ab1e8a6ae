import { describeExport } from '#shared/packs/export-record.ts';
import type { OperationNotes } from '../operation-notes.ts';

const ID = 'exp_01JD5C2V7X8Y9Z0A1B2C3D4E5F';
const PATH = { id: { description: 'Id of the export', example: ID } };
const QUEUED = {
  id: ID,
  orgId: 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
  status: 'queued' as const,
  firstIndex: 0,
  lastIndex: 1_199,
  checkpointSize: 1_200,
  done: 0,
  total: 1_200,
  sizeBytes: null,
  sha256: null,
  error: null,
  createdAt: Date.UTC(2026, 10, 20, 10, 0, 0, 12),
  startedAt: null,
  finishedAt: null,
  expiresAt: null,
};
const READY = {
  ...QUEUED,
  status: 'ready' as const,
  done: 1_200,
  sizeBytes: 4_190_211,
  sha256: '5b8b0a9c1d2e3f405162738495a6b7c8d9eafb0c1d2e3f405162738495a6b7c8',
  startedAt: Date.UTC(2026, 10, 20, 10, 0, 0, 40),
  finishedAt: Date.UTC(2026, 10, 20, 10, 0, 0, 310),
  expiresAt: Date.UTC(2026, 10, 27, 10, 0, 0, 310),
};

const json = (name: string, example: object) => ({
  'application/json': { examples: { [name]: example } },
});

export const EXPORT_OPERATIONS: Record<string, OperationNotes> = {
  'POST /v1/exports': {
    operationId: 'createExport',
    tag: 'Exports',
    summary: 'Ask for an evidence pack',
    description:
      'Queues a pack of the receipts in a range: by time of integration (`from` included, `to` excluded), by ledger index (both included), or everything. The pack leads to a signed checkpoint, the newest unless `checkpoint_size` names another; the same range at the same checkpoint gives the same bytes.',
    requests: {
      'By time': {
        from: '2026-11-01T00:00:00Z',
        to: '2026-12-01T00:00:00Z',
        format: 'evidence-pack',
      },
      'By index': { first_index: 0, last_index: 1_199, format: 'evidence-pack' },
    },
    answers: {
      202: { description: 'Queued.', content: json('queued', describeExport(QUEUED)) },
    },
    errors: [
      'invalid_from',
      'invalid_first_index',
      'invalid_last_index',
      'concurrent_exports_exceeded',
    ],
  },
  'GET /v1/exports': {
    operationId: 'listExports',
    tag: 'Exports',
    summary: 'List exports',
    description: 'Your exports, newest first. Deleted ones are left out.',
    answers: {
      200: {
        description: 'A page.',
        content: json('page', {
          object: 'list',
          data: [describeExport(READY)],
          first_id: ID,
          last_id: ID,
          has_more: false,
        }),
      },
    },
    errors: ['invalid_limit', 'invalid_after'],
  },
  'GET /v1/exports/{id}': {
    operationId: 'retrieveExport',
    tag: 'Exports',
    summary: 'Read an export',
    description: 'How far it is, and when it is ready, how large the pack is and its SHA-256.',
    path: PATH,
    answers: { 200: { description: 'The export.', content: json('ready', describeExport(READY)) } },
    errors: ['export_not_found'],
  },
  'GET /v1/exports/{id}/download': {
    operationId: 'downloadExport',
    tag: 'Exports',
    summary: 'Fetch a pack',
    description:
      'The pack as a ZIP archive. One `Range` is answered, so an interrupted download can be resumed with `If-Range` and the `ETag`, which is the SHA-256 of the pack.',
    path: PATH,
    headers: ['Range'],
    answers: {
      200: { description: 'The whole pack.' },
      206: { description: 'The part that was asked for.' },
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
  'DELETE /v1/exports/{id}': {
    operationId: 'deleteExport',
    tag: 'Exports',
    summary: 'Cancel or delete an export',
    description:
      'A pack that is being made is given up, a finished one is deleted. The audit log keeps the record.',
    path: PATH,
    answers: { 204: { description: 'Gone.' } },
    errors: ['export_not_found'],
  },
};
