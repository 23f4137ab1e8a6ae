import fc from 'fast-check';
import { encode } from 'uqr';
import { expect, it } from 'vitest';
import { qrCode } from '#api/dashboard/account/qr-code.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

it('what is drawn is dark where the code is dark, and has its quiet zone around it [dashboard.second-factor]', () => {
  forAll([fc.string({ minLength: 1, maxLength: 200 })], { numRuns: runs(50) }, (text) => {
    const drawn = qrCode(text, 'a code').text;
    const size = Number(/viewBox="0 0 (\d+) /.exec(drawn)![1]);
    const dark = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
    for (const [, x, y, length] of drawn.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
      dark[Number(y)]!.fill(true, Number(x), Number(x) + Number(length));
    }
    const { data } = encode(text, { ecc: 'M', border: 0 });
    const within = dark.slice(4, -4).map((row) => row.slice(4, -4));
    expect(within).toEqual(data);
    const count = (rows: boolean[][]) => rows.flat().filter(Boolean).length;
    expect(count(dark)).toBe(count(data));
  });
});
