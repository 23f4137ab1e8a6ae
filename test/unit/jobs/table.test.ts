import { describe, expect, it } from 'vitest';
import { readPayload } from '#shared/jobs/table.ts';

describe('a job’s payload', () => {
  it('a payload is read as its row of the table says, or not at all', () => {
    expect(readPayload('recalculation', { receiptId: 'rcpt_1' })).toEqual({ receiptId: 'rcpt_1' });
    expect(readPayload('recalculation', { receiptId: 'req_1' })).toBeNull();
    expect(readPayload('recalculation', { receiptId: 'rcpt_1', more: 1 })).toBeNull();
    expect(readPayload('mail', null)).toBeNull();
  });

  it('a job of exports is read also when the release before this one named one in it', () => {
    expect(readPayload('export', { exportId: 'exp_1' })).not.toBeNull();
  });

  it.each(['screening', 'restatement'] as const)(
    'a payload of %s names the organisation also when the release before this one wrote it',
    (name) => {
      expect(readPayload(name, { orgId: 'org_a' })).toEqual({ orgId: 'org_a' });
      expect(readPayload(name, { organisationId: 'org_a' })).toEqual({ orgId: 'org_a' });
      expect(readPayload(name, { organisationId: 'req_a' })).toBeNull();
      expect(readPayload(name, { orgId: 'org_a', organisationId: 'org_b' })).toBeNull();
    },
  );
});
