import { describe, expect, it } from 'vitest';
import { readPayload } from '#shared/jobs/table.ts';

describe('a job’s payload', () => {
  it('a payload is read as its row of the table says, or not at all', () => {
    expect(readPayload('recalculation', { receiptId: 'rcpt_1' })).toEqual({ receiptId: 'rcpt_1' });
    expect(readPayload('recalculation', { receiptId: 'req_1' })).toBeNull();
    expect(readPayload('recalculation', { receiptId: 'rcpt_1', more: 1 })).toBeNull();
    expect(readPayload('mail', null)).toBeNull();
  });
});
