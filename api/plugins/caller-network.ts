import { isIPv6 } from 'node:net';

/**
 * Who sends requests, as far as limits tell callers apart: an address of IPv4, or the /64 of one of IPv6, whose owner has
 * 2^64 of them. Some proxies write the port into X-Forwarded-For; it is another one with each connection, and left out.
 */
export function callerNetwork(address: string): string {
  const host = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1');
  const mapped = host.replace(/^::ffff:(?=[\d.]+$)/i, '');
  return isIPv6(mapped) ? networkOf(mapped) : mapped;
}

function networkOf(address: string): string {
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length;
  return [...groups, ...Array.from({ length: Math.max(0, missing) }, () => '0')]
    .slice(0, 4)
    .join(':')
    .toLowerCase();
}
