import type { OperationNotes } from '../operation-notes.ts';

const RECEIPT_ID = 'rcpt_01JD4Z7Q3RZ6X0T8WB5N2K9MVC';
const RECEIPT_PATH = { id: { description: 'Id of the receipt', example: RECEIPT_ID } };

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
};
