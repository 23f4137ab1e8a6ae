import { isIPv6 } from 'node:net';

/** Whose last 32 bits are an address of IPv4: `::ffff:0:0/96`, as sockets of both kinds tell it, and NAT64, `64:ff9b::/96`. */
const CARRYING_IPV4 = [
  [0, 0, 0, 0, 0, 0xffff],
  [0x64, 0xff9b, 0, 0, 0, 0],
] as const;

/**
 * Who sends requests, as far as limits tell callers apart: an address of IPv4, however it is carried, or the /64 of one of
 * IPv6, whose owner has 2^64 of them. Some proxies write the port into X-Forwarded-For; it is another one with each
 * connection, and left out.
 */
export function callerNetwork(address: string): string {
  const host = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1');
  if (!isIPv6(host)) return host;
  const groups = groupsOf(host);
  const carriesIpv4 = CARRYING_IPV4.some((prefix) => prefix.every((it, i) => it === groups[i]));
  if (!carriesIpv4) return Array.from(groups.slice(0, 4), (group) => group.toString(16)).join(':');
  return groups
    .slice(6)
    .map((group) => `${group >> 8}.${group & 0xff}`)
    .join('.');
}

/** The same as people read it: an address of IPv4, or `2001:db8:1:2::/64`. */
export function networkName(address: string): string {
  const network = callerNetwork(address);
  return network.includes(':') ? `${network}::/64` : network;
}

/** The eight groups of 16 bits, however the address is spelled. */
function groupsOf(address: string): number[] {
  const [withoutZone = ''] = address.split('%');
  const [head = [], tail = []] = withoutZone.split('::').map(groupsIn);
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

function groupsIn(side: string): number[] {
  if (side === '') return [];
  return side.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
