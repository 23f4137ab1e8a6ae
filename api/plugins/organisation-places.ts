import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Caller, Places } from './places.ts';
import type { HeldRefusals } from './held-refusals.ts';
import { classOf } from './rates.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether requests are answered from memory: such a request takes no place among those of its organisation, or its address. */
    asksNoStore?: true;
  }
}

/**
 * One of them costs some milliseconds here and one connection to PostgreSQL, of which a process has ten by default. Of
 * those that wait an organisation has a burst of most plans; the first is answered in milliseconds, the last in seconds.
 */
const ANSWERED = {
  atOnce: { organisation: 2, revocations: 2 },
  atOnceOfAll: Infinity,
  waitingOfOne: 1_024,
  waitingOfAll: 8_192,
} as const;

type Kind = keyof typeof ANSWERED.atOnce;

/**
 * Has each organisation wait for itself with what its keys ask of stores: reads and changes. Revocations have places of
 * their own, and inference has lanes. To be called behind `authenticate`.
 */
export function placeOrganisations(app: FastifyInstance, held: Pick<HeldRefusals, 'give'>): void {
  const callersOf = (request: FastifyRequest): readonly Caller<Kind>[] => {
    const kind = classOf(request);
    if (kind === 'revocations') return [['revocations', request.credential.orgId]];
    if (kind !== 'reads' && kind !== 'changes') return [];
    if (request.routeOptions.config.asksNoStore) return [];
    return [['organisation', request.credential.orgId]];
  };
  // A key that was revoked while its request waited reads nothing and changes nothing.
  const lookAgain = (request: FastifyRequest) => request.authenticateAgain();
  new Places<Kind>(ANSWERED).limit(app, { callersOf, lookAgain, held });
}
