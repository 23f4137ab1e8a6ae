import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isPublicAddress } from '#shared/kernel/public-address.ts';
import { forAll } from '#test/support/for-all.ts';

it.each([
  ['8.8.8.8', true],
  ['172.15.255.255', true],
  ['172.32.0.1', true],
  ['2a00:1450:4001::1', true],
  ['172.16.0.1', false],
  ['169.254.169.254', false],
  ['100.100.100.200', false],
  ['0.0.0.0', false],
  ['255.255.255.255', false],
  ['::', false],
  ['::1', false],
  ['fe80::1', false],
  ['fd00:ec2::254', false],
  ['::ffff:8.8.8.8', false],
  ['64:ff9b::a00:1', false],
  ['2002:7f00:1::', false],
  ['issuer.example', false],
  ['', false],
])('%s is an address of the internet: %s [dashboard.single-sign-on-outside]', (address, is) => {
  expect(isPublicAddress(address)).toBe(is);
});

it('no private address is one of the internet, however its host part reads [dashboard.single-sign-on-outside]', () => {
  const octet = fc.nat(255);
  forAll([octet, octet, octet], (b, c, d) => {
    for (const network of [`10.${b}`, `127.${b}`, '192.168', '169.254']) {
      expect(isPublicAddress(`${network}.${c}.${d}`)).toBe(false);
    }
  });
});

it('of IPv6 what is routed is of the internet, however it is written [dashboard.single-sign-on-outside]', () => {
  forAll([fc.ipV6()], (address) => {
    const first = Number.parseInt(
      new URL(`http://[${address}]`).hostname.slice(1).split(':')[0] || '0',
      16,
    );
    if (first < 0x2000 || first > 0x3fff) expect(isPublicAddress(address)).toBe(false);
    else if (first > 0x2002 && first < 0x3fff) expect(isPublicAddress(address)).toBe(true);
  });
});
