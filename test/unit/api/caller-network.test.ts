import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callerNetwork } from '#api/plugins/caller-network.ts';

describe('who callers are, for limits', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:51234', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:443', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:1:2::9', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]:51234', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
  ])('%s is %s', (address, network) => {
    expect(callerNetwork(address)).toBe(network);
  });

  it('the port that a proxy writes down makes nobody another caller', () => {
    const port = fc.integer({ min: 0, max: 65_535 });
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV6(), port, (v4, v6, one) => {
        expect(callerNetwork(`${v4}:${one}`)).toBe(callerNetwork(v4));
        expect(callerNetwork(`[${v6}]:${one}`)).toBe(callerNetwork(v6));
      }),
    );
  });
});
