import { assert, nat, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeFailure, draftOfKeyAct, waitAfterFailure } from '#shared/accounts/letters.ts';

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

describe('why a letter could not be sent', () => {
  it('is told on one line of 500 characters at most, whatever the mail server says', () => {
    assert(
      property(string({ unit: 'binary' }), nat(100), (said, times) => {
        const shown = describeFailure(new Error(said.repeat(times)));
        return shown.length <= 500 && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(shown);
      }),
    );
  });

  it('leaves out what opens doors: links of the letter that a server quotes', () => {
    const said =
      '554 spam\r\n https://gateway.example/dashboard/password/reset?token=abc \u001b[2K';
    expect(describeFailure(new Error(said))).toBe(
      '554 spam · https://gateway.example/… \\u{1b}[2K',
    );
  });
});

describe('a letter about a key', () => {
  it('keeps a line break in a name out of its subject', () => {
    const key = { name: 'a\r\nBcc: eve@evil.example', display: 'dkt_aaaa…bbbb' };
    expect(draftOfKeyAct(key, 'key.revoked', 'operator ada')?.subject).not.toMatch(/[\r\n]/);
  });
});
