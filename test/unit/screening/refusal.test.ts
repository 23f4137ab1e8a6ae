import { describe, expect, it } from 'vitest';
import { refusalMessage } from '#shared/screening/refusal.ts';

describe('the message to a caller whose request was blocked', () => {
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
