import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readTraceparent, writeTraceparent } from '#shared/kernel/traceparent.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

it('a traceparent of version 00 says where its span stands and whether it is sampled, also with other flags', () => {
  const place = { traceId: TRACE, spanId: SPAN };
  expect(readTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ ...place, isSampled: true });
  expect(readTraceparent(`00-${TRACE}-${SPAN}-00`)).toEqual({ ...place, isSampled: false });
  expect(readTraceparent(`00-${TRACE}-${SPAN}-03`)).toEqual({ ...place, isSampled: true });
  expect(readTraceparent(`00-${TRACE}-${SPAN}-fe`)).toEqual({ ...place, isSampled: false });
});

it('one of a later version is read as one of version 00, with anything behind a further hyphen', () => {
  const place = { traceId: TRACE, spanId: SPAN, isSampled: true };
  expect(readTraceparent(`01-${TRACE}-${SPAN}-01`)).toEqual(place);
  expect(readTraceparent(`fe-${TRACE}-${SPAN}-01-what-will-be`)).toEqual(place);
});

it.each([
  ['nothing', undefined],
  ['an empty one', ''],
  ['two in one', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ['a list', [`00-${TRACE}-${SPAN}-01`]],
  ['the version that is none', `ff-${TRACE}-${SPAN}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['more in version 00', `00-${TRACE}-${SPAN}-01-more`],
  ['something behind a later version without a hyphen', `01-${TRACE}-${SPAN}-01more`],
  ['a trace that is too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
  ['no flags', `00-${TRACE}-${SPAN}`],
  ['a line break', `00-${TRACE}-${SPAN}-01\n`],
  ['a line break in what is to come', `01-${TRACE}-${SPAN}-01-\r\nx: y`],
  ['kilobytes', `01-${TRACE}-${SPAN}-01-${'x'.repeat(16_384)}`],
])('%s is no traceparent, and nothing is thrown', (_what, text) => {
  expect(readTraceparent(text)).toBeUndefined();
});

it('what is written is read as it was, and no text that comes in its place throws', () => {
  const hex = (length: number) =>
    fc
      .array(fc.constantFrom(...'0123456789abcdef'.split('')), {
        minLength: length,
        maxLength: length,
      })
      .map((digits) => digits.join(''))
      .filter((digits) => !/^0+$/.test(digits));
  const place = fc.record({ traceId: hex(32), spanId: hex(16), isSampled: fc.boolean() });
  forAll([place, fc.string()], { numRuns: runs(500) }, (one, text) => {
    expect(readTraceparent(writeTraceparent(one))).toEqual(one);
    expect(readTraceparent(text)).toBeUndefined();
  });
});
