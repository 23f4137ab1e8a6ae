import type { ServerResponse } from 'node:http';
import { Shares } from './shares.ts';

/** Of what is free, as of bodies: alone an organisation has half of all, and the other half is there for others. */
const PART_OF_ORGANISATION = 1;

/** Whose a request is: of an organisation where its key is known to be good, else of a network, and of none where a proxy asks. */
export type Caller = { orgId: string } | { network: string | undefined };

/** Counts the requests of each network and each organisation that are not answered, within shares of so many of all. */
export class RequestsOfCallers {
  readonly #shares: Shares;

  constructor(openMax: number) {
    this.#shares = new Shares(openMax);
  }

  /** Counts a request until its response closes, or says whose bound is reached. */
  take(response: Pick<ServerResponse, 'once'>, caller: Caller): 'caller' | 'all' | undefined {
    const isOrganisation = 'orgId' in caller;
    const name = isOrganisation ? caller.orgId : caller.network;
    const bound = this.#shares.take(name, isOrganisation ? PART_OF_ORGANISATION : undefined);
    if (bound !== undefined) return bound === 'all' ? 'all' : 'caller';
    response.once('close', () => this.#shares.giveBack(name));
    return undefined;
  }
}
