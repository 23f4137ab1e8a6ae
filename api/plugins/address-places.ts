import type { FastifyInstance, FastifyRequest } from 'fastify';
import { callerNetwork } from './caller-network.ts';
import type { HeldRefusals } from './held-refusals.ts';
import { type Caller, Places } from './places.ts';

/**
 * Each holds one connection to PostgreSQL, of which a process has ten by default: most are left for those who have keys.
 * Of those that wait an address has its burst, which a verifier needs for the tiles of a large log.
 */
const ANSWERED = {
  atOnce: { address: 2 },
  atOnceOfAll: 4,
  waitingOfOne: 1_024,
  waitingOfAll: 8_192,
} as const;

type Kind = keyof typeof ANSWERED.atOnce;

/**
 * Has each address wait for itself with what the public may ask of stores, so that strangers hold up none who has a key. A
 * public route is among them unless it says that it `asksNoStore`.
 */
export function placeAddresses(app: FastifyInstance, held: Pick<HeldRefusals, 'give'>): void {
  const callersOf = ({ ip, is404, routeOptions }: FastifyRequest): readonly Caller<Kind>[] => {
    const { scope, asksNoStore } = routeOptions.config;
    if (is404 || scope !== 'public' || asksNoStore) return [];
    return [['address', callerNetwork(ip)]];
  };
  new Places<Kind>(ANSWERED).limit(app, { callersOf, held });
}
