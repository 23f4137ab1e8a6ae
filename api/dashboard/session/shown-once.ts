import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DashboardDeps } from '../deps.ts';
import { type PageExchange, seeOther } from '../guard.ts';
import { cookieLine, readCookie } from './cookies.ts';

/** Long enough for a slow page, and gone before another person has the browser. */
const SHOWN_S = 300;

/** A page that shows a secret once, and what the secret is of. */
export interface ShownOnce {
  /** The path of the page. */
  address: string;
  /** The id of the key or webhook. */
  id: string;
}

/**
 * Pages to which a new secret goes along in a cookie of theirs, sealed for this session and for what it is of: a reload makes no
 * other one, and the second look shows nothing.
 * @param name of the cookie, of letters and `_`
 */
export function shownOnce(name: string) {
  const pattern = new RegExp(`^${name}=([\\w-]+)$`);
  const subject = (request: FastifyRequest, id: string): string =>
    `${request.visit.session.id} ${id}`;
  const set = (deps: DashboardDeps, reply: FastifyReply, path: string, value: string): void => {
    const lasting = { sameSite: 'Strict', maxAgeS: SHOWN_S } as const;
    void reply.header('set-cookie', cookieLine(deps.publicUrl, { name, value, path, ...lasting }));
  };
  return {
    /** Sends on to the page, with the secret. */
    send(
      deps: DashboardDeps,
      [request, reply]: PageExchange,
      { address, id }: ShownOnce,
      secret: string,
    ): FastifyReply {
      set(deps, reply, address, deps.flash.seal(subject(request, id), secret));
      return seeOther(reply, address);
    },
    /** The secret that the page has to show, which takes it away; null where there is none, or not for this session. */
    take(
      deps: DashboardDeps,
      [request, reply]: PageExchange,
      { address, id }: ShownOnce,
    ): string | null {
      const sealed = readCookie(request.headers.cookie, pattern);
      if (sealed === undefined) return null;
      const secret = deps.flash.open(subject(request, id), sealed);
      if (secret !== null) set(deps, reply, address, '');
      return secret;
    },
  };
}
