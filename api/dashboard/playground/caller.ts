import type { FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { DashboardDeps } from '../deps.ts';
import {
  actorOf,
  demandRight,
  foreignForm,
  membershipsOf,
  ownOrigin,
  visitorOf,
  wayInto,
} from '../guard.ts';
import { notFound, PageError } from '../page-error.ts';

/** The session of a person who runs something is over, or was none. */
export class SignedOut extends PageError {
  constructor() {
    super(
      401,
      'Your session has ended',
      'Nothing ran. Sign in again in another tab, and run it again here.',
    );
  }
}

/**
 * Finds by whose key a run of the playground counts: by that of the person who is signed in, in the organisation of the address.
 * All that opens a page of the organisation is demanded, and looked at again when the request is admitted: a session that
 * has ended by then, or a role that was taken away, runs nothing.
 */
export function playgroundCaller(
  deps: DashboardDeps,
): (request: FastifyRequest) => Promise<Credential | null> {
  const isOurs = ownOrigin(deps.publicUrl);
  return async (request) => {
    if (!isOurs(request)) throw foreignForm();
    const isFirst = (request.credential as Credential | null) === null;
    const tooMany = isFirst ? deps.bounds.count(request) : undefined;
    if (tooMany !== undefined) throw tooMany;
    const signIn = await deps.signIn();
    const signedIn = await signIn.session(visitorOf(request));
    if (signedIn === null) throw new SignedOut();
    const { person } = signedIn;
    const memberships = await membershipsOf(deps, signedIn);
    const orgIds = memberships.map(({ orgId }) => orgId);
    deps.bounds.meet(request, { personId: person.id, orgIds });
    const { org } = request.params as { org: string };
    const membership = memberships.find(({ orgId }) => orgId === org);
    if (membership === undefined) throw notFound();
    if (wayInto(membership, signedIn) !== undefined) {
      throw new PageError(
        403,
        'The organisation asks for more',
        'Nothing ran. Open its pages again, which say how to come in.',
      );
    }
    demandRight(membership, 'use the playground');
    request.visit = { ...signedIn, memberships, staff: [], allowing: [] };
    request.membership = membership;
    return deps.credentialOf(await keyOf(deps, request));
  };
}

async function keyOf(deps: DashboardDeps, request: FastifyRequest): Promise<string> {
  const { membership, visit } = request;
  try {
    return await deps.keys.playground(membership.orgId, visit.person, actorOf(request));
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'key_state_conflict') throw error;
    throw new PageError(
      403,
      'The playground is switched off',
      'Owners of the organisation decide that, under Settings.',
    );
  }
}
