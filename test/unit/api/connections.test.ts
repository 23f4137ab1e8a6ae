import { expect, it } from 'vitest';
import { connectionsMaxOf } from '#api/plugins/connections.ts';
import { Shares } from '#api/plugins/shares.ts';

/** As many connections as a network gets at most. */
function takeAll(connections: Shares, network: string): number {
  let taken = 0;
  while (connections.take(network) === undefined) taken += 1;
  return taken;
}

it('one address alone has a fifth of all connections, and each of a dozen more that take what they can leaves room for others [limits.connections]', () => {
  const connections = new Shares(1_000);
  expect(takeAll(connections, 'first')).toBe(200);
  for (let network = 0; network < 12; network += 1) {
    expect(takeAll(connections, `${network}`)).toBeGreaterThan(0);
    expect(connections.take(`beside ${network}`)).toBeUndefined();
  }
  expect(connections.take('first')).toBe('address');
});

it('what is closed makes room again, and connections of proxies are bounded with all alone [limits.connections]', () => {
  const connections = new Shares(10);
  const ofProxy = Array.from({ length: 11 }, () => connections.take(undefined));
  expect(ofProxy).toEqual([...Array.from({ length: 10 }, () => undefined), 'all']);
  for (let i = 0; i < 8; i += 1) connections.giveBack(undefined);
  expect(takeAll(connections, 'a')).toBe(2);
  connections.giveBack('a');
  connections.giveBack('a');
  expect(takeAll(connections, 'a')).toBe(2);
});

it('descriptors are left for stores, upstreams and files, however few or many there are', () => {
  expect([256, 1_024, 4_096, 20_000, 1_048_576].map(connectionsMaxOf)).toEqual([
    192, 768, 3_072, 16_384, 16_384,
  ]);
});
