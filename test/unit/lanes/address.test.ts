import { expect, it } from 'vitest';
import { newAddress, pathOf } from '#shared/lanes/sockets/address.ts';

it('an address leads to its process, and is that of no other', () => {
  const [one, two] = [newAddress(), newAddress()];
  expect(pathOf(one)).not.toBe(undefined);
  expect(pathOf(one)).not.toBe(pathOf(two));
});

/** There any user may listen by the same name, and pass on what is told and proven. */
it.each([
  ['of another machine or network namespace', `unix:@docket-${'0'.repeat(32)}-${'1'.repeat(32)}`],
  ['that does not say where it is', `unix:@docket-${'1'.repeat(32)}`],
  ['in a folder that is not there, or not ours', 'unix:/no-such-folder/replies'],
  ['that is none', '1'],
])('an address %s leads nowhere', (_what, address) => {
  expect(pathOf(address)).toBe(undefined);
});
