import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { type Peer, readPeers } from '#shared/lanes/redis/peers.ts';
import { type Finding, ok, skipped, warning } from './finding.ts';

/** What the `api`, `inference` and `receipts` processes of this Redis have said that they are, where they differ. */
export async function examinePeers(client: RedisClient): Promise<Finding[]> {
  const { living } = await readPeers(client);
  const peers = [...living.values()];
  if (peers.length === 0) {
    return [skipped('builds', 'no api, inference or receipts process runs on this Redis')];
  }
  return [
    sameOf(
      'builds',
      peers.map(({ build }: Peer) => build),
      'finish the upgrade: start those of the older build again',
    ),
    sameOf(
      'catalogues',
      peers.map(({ catalogue }: Peer) => catalogue),
      'send SIGHUP to those that have not read it, or start them again',
    ),
  ];
}

function sameOf(name: string, values: readonly string[], fix: string): Finding {
  const counts = [...Map.groupBy(values, (value) => value)]
    .map(
      ([value, all]) => `${value} in ${all.length} ${all.length === 1 ? 'process' : 'processes'}`,
    )
    .toSorted();
  const detail = counts.join(', ');
  return counts.length === 1 ? ok(name, detail) : warning(name, detail, fix);
}
