import { expect, it } from 'vitest';
import { appUri, base32, stepOfCode } from '#api/dashboard/session/app-code.ts';

/** Of the tests in RFC 6238, appendix B, whose codes have two more digits in front. */
const SECRET = Buffer.from('12345678901234567890');

it('codes are those of RFC 6238, of the step now, the one before and the one behind, and of no other [dashboard.second-factor]', () => {
  const known = [
    [1_111_111_111, '050471'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ] as const;
  for (const [seconds, code] of known) {
    const step = Math.floor(seconds / 30);
    for (const steps of [-1, 0, 1]) {
      expect(stepOfCode(SECRET, code, (seconds + 30 * steps) * 1_000)).toBe(step);
    }
    for (const steps of [-2, 2]) {
      expect(stepOfCode(SECRET, code, (seconds + 30 * steps) * 1_000)).toBe(undefined);
    }
  }
});

it('an app is told the secret as RFC 4648 writes it [dashboard.second-factor]', () => {
  expect(base32(Buffer.from('fooba'))).toBe('MZXW6YTB');
  expect(appUri(SECRET, 'ada+b@person.example')).toBe(
    'otpauth://totp/Docket:ada%2Bb%40person.example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Docket&digits=6&period=30',
  );
});
