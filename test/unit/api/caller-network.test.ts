import { SocketAddress } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { forAll } from '#test/support/for-all.ts';

describe('who callers are, for limits', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:51234', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:443', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['0000:0:0:0:0:ffff:c000:0207', '192.0.2.7'],
    ['64:ff9b::192.0.2.7', '192.0.2.7'],
    ['[0064:ff9b::c000:207]:443', '192.0.2.7'],
    ['64:ff9b:1::192.0.2.7', '64:ff9b:1:0'],
    ['::ffff:0:192.0.2.7', '0:0:0:0'],
    ['2001:0db8::1', '2001:db8:0:0'],
    ['2001:db8:0:0:1::', '2001:db8:0:0'],
    ['fe80::1:2%eth0.1', 'fe80:0:0:0'],
    ['unknown', 'unknown'],
    ['', ''],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:1:2::9', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]:51234', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
  ])('%s is %s', (address, network) => {
    expect(callerNetwork(address)).toBe(network);
  });

  const group = fc.oneof(fc.constantFrom(0, 0x64, 0xff9b, 0xffff), fc.nat(0xffff));
  const bits = fc.oneof(
    fc.tuple(group, group, group, group, group, group, group, group),
    // Where an address of IPv4 is carried, and beside it.
    fc.tuple(...[0, 0, 0, 0, 0, 0xffff].map((one) => fc.constant(one)), group, group),
    fc.tuple(...[0x64, 0xff9b, 0, 0, 0, 0].map((one) => fc.constant(one)), group, group),
  );
  const hexadecimal = (groups: readonly number[], width = 0): string =>
    groups.map((one) => one.toString(16).padStart(width, '0')).join(':');
  const dotted = (groups: readonly number[]): string =>
    groups.map((one) => `${one >> 8}.${one & 0xff}`).join('.');
  const canonical = (address: string): string =>
    new SocketAddress({ address, family: 'ipv6' }).address;

  it('all spellings of an address are one caller', () => {
    forAll([bits], (groups) => {
      const whole = hexadecimal(groups);
      const network = callerNetwork(whole);
      for (const spelling of [
        canonical(whole),
        hexadecimal(groups, 4),
        hexadecimal(groups, 4).toUpperCase(),
        `${hexadecimal(groups.slice(0, 6))}:${dotted(groups.slice(6))}`,
        `${whole}%eth0`,
      ]) {
        expect(callerNetwork(spelling), spelling).toBe(network);
      }
    });
  });

  it('two addresses are one caller when they are of one /64, or carry one address of IPv4', () => {
    const carried = (groups: readonly number[]): string | undefined =>
      ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'].includes(hexadecimal(groups.slice(0, 6)))
        ? dotted(groups.slice(6))
        : undefined;
    forAll([bits, bits, fc.nat(8)], (one, other, shared) => {
      const mixed = one.map((each, i) => (i < shared ? each : other[i]!));
      const [a, b] = [hexadecimal(one), hexadecimal(mixed)];
      const isOneNetwork = one.slice(0, 4).every((each, i) => each === mixed[i]);
      const isOneCaller =
        carried(one) === carried(mixed) && (carried(one) !== undefined || isOneNetwork);
      expect(callerNetwork(a) === callerNetwork(b), `${a} ${b}`).toBe(isOneCaller);
    });
  });

  it('the port that a proxy writes down makes no caller another', () => {
    const port = fc.integer({ min: 0, max: 65_535 });
    forAll([fc.ipV4(), fc.ipV6(), port], (v4, v6, one) => {
      expect(callerNetwork(`${v4}:${one}`)).toBe(callerNetwork(v4));
      expect(callerNetwork(`[${v6}]:${one}`)).toBe(callerNetwork(v6));
    });
  });
});
