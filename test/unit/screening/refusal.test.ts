import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { blockRecord, refusalMessage } from '#shared/screening/refusal.ts';

const VERDICT = {
  rule: 'cakes',
  code: 'acceptable_use_violation',
  policyVersion: '2026-01-31',
} as const;

describe('what is kept and told of a blocked request', () => {
  it('is the rule, the policy and a salted digest: never the text', () => {
    const [salt, body] = [Buffer.from('0123456789abcdef'), Buffer.from('{"prompt":"the text"}')];
    expect(blockRecord(VERDICT, salt, body)).toEqual({
      rule: 'cakes',
      policyVersion: '2026-01-31',
      saltedDigest: createHash('sha256')
        .update(Buffer.concat([salt, body]))
        .digest('base64url'),
    });
  });

  it.each(['dual_use_screen_block', 'acceptable_use_violation'] as const)(
    'names whom to ask and what to refer to: %s',
    (code) => {
      const message = refusalMessage({
        code,
        supportEmail: 'help@example.org',
        requestId: 'req_1',
      });
      expect(message).toContain('help@example.org');
      expect(message).toContain('req_1');
    },
  );
});
