import { hash } from 'node:crypto';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { SecondChanceMap } from '#api/auth/second-chance-map.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import type { Rate } from '#shared/kernel/plan.ts';
import type { CommandLines } from '#shared/persons/postgres/command-lines.ts';
import type { StaffRole } from '#shared/persons/roles.ts';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { MemoryRates } from '#api/plugins/memory-rates.ts';
import type { Acted } from './fields.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** At the admin API: of which the one in whose name a program acts has to have one. Operators alone when absent. */
    staff?: readonly StaffRole[];
  }
  interface FastifyRequest {
    /** What the operator key of a request is called, with its id; null before it is known. */
    operatorKey: string | null;
  }
}

/** `dko_` and 32 bytes in base64url; what looks otherwise is not looked up. */
const BEARER = /^Bearer (dko_[\w-]{43})$/i;

/** Those who look into organisations on pages, too: reviewers see reviews there, and nothing else. */
const OPERATORS: readonly StaffRole[] = ['operator'];
const STAFF_WORDS = { operator: 'an operator', reviewer: 'a reviewer' } as const;

/** A program lists and acts; none has to ask more often. */
export const PER_KEY: Rate = { requestsPerSecond: 20, burst: 100 };
/** Of all that comes from one machine without a key that was good before. */
export const PER_ADDRESS: Rate = { requestsPerSecond: 50, burst: 200 };
/** A wrong key counts as so many requests. */
const WEIGHT_OF_WRONG_KEYS = 20;
/** Operators have a few keys each. */
const KEYS_REMEMBERED_MAX = 1_000;

export interface OperatorsOptions {
  commandLines: Pick<CommandLines, 'by'>;
  /** By which rates are counted, in monotonic milliseconds; the process's own clock when absent. */
  now?: (() => number) | undefined;
}

/**
 * Demands an operator key on every route but public ones, and knows in whose name a program acts from then on. Call it before
 * any route. Keys are looked up with every request, so that one that was ended opens nothing from then on.
 */
export function demandOperators(
  app: FastifyInstance,
  { commandLines, now }: OperatorsOptions,
): void {
  const perAddress = new MemoryRates(PER_ADDRESS, now);
  const perKey = new MemoryRates(PER_KEY, now);
  /** What keys are counted as that were good when they were last shown, by their digests: no stranger at their address holds them up. */
  const good = new SecondChanceMap<string>(KEYS_REMEMBERED_MAX);
  app.decorateRequest('operator', null);
  app.decorateRequest('operatorKey', null);
  app.addHook('onRoute', requireRole);
  app.addHook('onRequest', async (request) => {
    const network = callerNetwork(request.ip);
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
    const digest = token === undefined ? '' : hash('sha256', token);
    const known = good.get(digest);
    refuseBeyond(known === undefined ? perAddress.take(network) : perKey.take(known));
    if (request.is404 || request.routeOptions.config.scope === 'public') return;
    const found = token === undefined ? null : await commandLines.by(token, 'key');
    if (found === null || found === 'waiting') {
      good.delete(digest);
      perAddress.spend(network, WEIGHT_OF_WRONG_KEYS);
      throw new Fault('invalid_api_key', {
        message: 'Show an operator key that holds: Authorization: Bearer dko_….',
      });
    }
    const { person, staff, keyLabel } = found;
    // By whose key it is and what it is called: a person who has ten keys has ten rates.
    const counted = `${person.id} ${keyLabel}`;
    if (known === undefined) refuseBeyond(perKey.take(counted));
    good.set(digest, counted);
    const { staff: roles = OPERATORS } = request.routeOptions.config;
    if (!staff.some((role) => roles.includes(role))) {
      const words = roles.map((role) => STAFF_WORDS[role]).join(' or ');
      throw new Fault('insufficient_scope', { message: `This needs a key of ${words}.` });
    }
    request.operatorKey = keyLabel;
    request.operator = {
      kind: 'operator',
      id: person.id,
      name: person.name,
      address: `operator-key:${keyLabel}@${request.ip}`,
      allowedBy: { staff: roles },
    };
  });
  // What a program says of its act stands in the audit log.
  app.addHook('preHandler', (request, _reply, done) => {
    const { operator } = request;
    const { reason, ticket } = (request.body ?? {}) as Acted;
    if (reason?.trim() === '') return done(invalidParam('reason', 'Enter a reason.'));
    if (operator !== null) {
      request.operator = {
        ...operator,
        ...(reason !== undefined && { reason }),
        ...(ticket !== undefined && { ticket }),
      };
    }
    done();
  });
}

function requireRole(route: RouteOptions): void {
  const scope = route.config?.scope;
  if (scope !== 'operator' && scope !== 'public')
    throw new Error(`The route ${String(route.method)} ${route.url} is none of the admin API.`);
}

function refuseBeyond(waitMs: number): void {
  if (waitMs > 0) throw new Fault('requests_per_second_exceeded', { retryAfterMs: waitMs });
}
