import { assert, nat, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeFailure, draftOfKeyAct, waitAfterFailure } from '#shared/accounts/letters.ts';

const HOUR_MS = 3_600_000;
const REVOKED = {
  name: 'batch',
  display: 'dkt_aaaa…bbbb',
  leaked: false,
  restorableUntil: Date.UTC(2027, 1, 23, 18),
};
const BY = { actor: 'operator ada', reason: 'not used any more' };

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
    const key = { ...REVOKED, name: 'a\r\nBcc: eve@evil.example' };
    expect(draftOfKeyAct(key, 'key.revoked', BY)?.subject).not.toMatch(/[\r\n]/);
  });

  it('of a revocation says why, who can undo it and until when', () => {
    const { subject, body } = draftOfKeyAct(REVOKED, 'key.revoked', BY)!;
    expect(subject).toBe('API key "batch" was revoked');
    expect(body).toContain('Reason: not used any more.');
    expect(body).toContain(
      'An owner or admin can restore it, while the organisation is active, until 23 Feb 2027, 18:00 UTC;',
    );
    expect(body).not.toMatch(/leaked|support can/i);
  });

  it('of a leaked key says that it leaked, where it was found, what to do, and that support alone restores it', () => {
    const leaked = { ...REVOKED, leaked: true };
    const { subject, body } = draftOfKeyAct(leaked, 'key.revoked', { ...BY, reason: 'in a log' })!;
    expect(subject).toBe('API key "batch" leaked');
    expect(body).toContain('Where it was found: in a log.');
    expect(body).toContain('What to do: issue another key');
    expect(body).toContain(
      'Only support can restore it, while the organisation is active, until 23 Feb 2027, 18:00 UTC;',
    );
    expect(body).not.toContain('owner or admin');
    const pasted = `dkt_${'Ab1'.repeat(12)}xy in a log\n\0`;
    const told = draftOfKeyAct(leaked, 'key.revoked', { ...BY, reason: pasted })!;
    expect(told.body).toContain('Where it was found: dkt_Ab1A… in a log');
    const unsaid = draftOfKeyAct(leaked, 'key.leaked', { ...BY, reason: undefined })!.body;
    expect(unsaid).toContain('was reported as leaked: others have it, or may have.');
    expect(unsaid).toContain('Where it was found: that was not said.');
  });

  it('offers no way back of a key that has none: one that has expired, leaked or not', () => {
    for (const leaked of [false, true]) {
      const expired = { ...REVOKED, leaked, restorableUntil: null };
      const action = leaked ? 'key.leaked' : 'key.expired';
      const { body } = draftOfKeyAct(expired, action, { ...BY, reason: undefined })!;
      expect(body).not.toContain('restore');
    }
  });
});
