import { describe, expect, it } from 'vitest';
import { draftOfKeyAct, waitAfterFailure } from '#shared/accounts/letters.ts';

const HOUR_MS = 3_600_000;

describe('a letter that cannot be sent', () => {
  it('is tried again for more than a day, at least every three hours', () => {
    let waitedMs = 0;
    for (let attempts = 1; ; attempts += 1) {
      const waitMs = waitAfterFailure(attempts);
      if (waitMs === null) break;
      expect(waitMs).toBeLessThanOrEqual(3 * HOUR_MS);
      waitedMs += waitMs;
    }
    expect(waitedMs).toBeGreaterThan(24 * HOUR_MS);
    expect(waitAfterFailure(1)).toBe(30_000);
  });
});

describe('a letter about a key', () => {
  it('keeps a line break in a name out of its subject', () => {
    const key = { name: 'a\r\nBcc: eve@evil.example', display: 'dkt_aaaa…bbbb' };
    expect(draftOfKeyAct(key, 'key.revoked', 'operator ada')?.subject).not.toMatch(/[\r\n]/);
  });
});
