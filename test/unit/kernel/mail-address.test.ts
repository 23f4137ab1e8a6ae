import { expect, it } from 'vitest';
import { mailAddress, withoutNote } from '#shared/kernel/mail-address.ts';

it.each([
  ' ada@example.com ',
  'ada@EXAMPLE.com',
  'ada@ｅxample.com',
  'ada@example。com',
  'ada@example.com.',
  'ada@example．com。',
])('%j is one address, by which letters are counted', (typed) => {
  expect(mailAddress(typed)).toBe('ada@example.com');
});

it('a domain in letters of its own language has the name by which it is looked up', () => {
  expect(mailAddress('Ada@exämple.de')).toBe('Ada@xn--exmple-cua.de');
  expect(mailAddress('ada@xn--exmple-cua.de')).toBe('ada@xn--exmple-cua.de');
  expect(mailAddress('operator@localhost')).toBe('operator@localhost');
});

it.each([
  '',
  'ada',
  '@example.com',
  'ada@',
  'ada@.',
  'ada@a..b',
  'a b@example.com',
  'ada@exa mple.com',
  'ada@example.com\nbcc: x@y.z',
  '<ada@example.com>',
  'ada@[192.0.2.1]',
  'ada@1.2.3',
  'ada@2130706433',
  'ada@0x7f.1',
  'a(1)@example.com',
  'a\\b@example.com',
  'a:b@example.com',
  'a@b@example.com',
  'a,b@example.com',
  `${'a'.repeat(250)}@example.com`,
])('%j is no address', (typed) => {
  expect(mailAddress(typed)).toBeUndefined();
});

it.each([
  ['ada+1@example.com', 'ada@example.com'],
  ['ada+a+b@example.com', 'ada@example.com'],
  ['ada+@example.com', 'ada@example.com'],
  ['ada@example.com', undefined],
  ['+1@example.com', undefined],
])('%j is without its note %j', (address, plainAddress) => {
  expect(withoutNote(address)).toBe(plainAddress);
});
