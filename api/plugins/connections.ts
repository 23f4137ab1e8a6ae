import type { Socket } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import type { FastifyInstance } from 'fastify';
import { callerNetwork } from './caller-network.ts';
import { Shares } from './shares.ts';

/** Descriptors for stores, upstreams, files and the metrics port: a quarter where there are few. */
const RESERVE = 1_024;
/** Above what one process serves; with unfinished headers on each they come to some hundred megabytes. */
const CONNECTIONS_MAX = 16_384;

/** How many connections a process takes that may have so many descriptors. */
export function connectionsMaxOf(openFilesMax: number): number {
  const reserve = Math.min(RESERVE, Math.ceil(openFilesMax / 4));
  return Math.min(CONNECTIONS_MAX, openFilesMax - reserve);
}

/** Tells an address whose connections are those of many callers: what comes from this machine itself may be a proxy on it. */
export function proxyTest(
  trustedProxies: readonly string[],
): (address: string, hop: number) => boolean {
  return proxyAddr.compile(['loopback', ...trustedProxies]);
}

/**
 * Of what there was too much where a connection was closed: connections of one address, or of all; requests on it that are
 * not answered; refusals that wait, of its address or of all.
 */
export type ConnectionBound = 'address' | 'all' | 'requests' | 'refusals';

export interface ConnectionsOptions {
  connectionsMax: number;
  /** Their connections are those of many callers, and bounded together alone. */
  trustedProxies: readonly string[];
  onRefused: (bound: ConnectionBound) => void;
}

/**
 * Bounds the connections of a server, and those of each address, by closing the one too many at once. The address is asked
 * for when a connection comes, once: node remembers the answer, and of a connection that has been reset the system knows
 * none any more. One that has none then has left already, and its request, if it sent one, is none.
 */
export function boundConnections(
  { server }: Pick<FastifyInstance, 'server'>,
  { connectionsMax, trustedProxies, onRefused }: ConnectionsOptions,
): void {
  const isProxy = proxyTest(trustedProxies);
  const connections = new Shares(connectionsMax);
  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket;
    if (address === undefined) {
      socket.destroy();
      return;
    }
    const network = isProxy(address, 0) ? undefined : callerNetwork(address);
    const bound = connections.take(network);
    if (bound === undefined) socket.once('close', () => connections.giveBack(network));
    else {
      socket.destroy();
      onRefused(bound);
    }
  });
}
