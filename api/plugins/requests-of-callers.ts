import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Shares } from './shares.ts';

/** Requests of all that are not answered: one for each connection that a process takes. */
const OPEN_MAX = 16_384;
/** Of what is free, as of bodies: alone an organisation has half of all, and the other half is there for others. */
const PART_OF_ORGANISATION = 1;

/** Whose a request is: of an organisation where its key is known to be good, else of a network, and of none where a proxy asks. */
export type Caller = { orgId: string } | { network: string | undefined };

/** Counts the requests of each network and each organisation that are not answered, within shares of all. */
export class RequestsOfCallers {
  readonly #shares: Shares;
  readonly #open = new WeakMap<Socket, Set<() => void>>();

  constructor(openMax = OPEN_MAX) {
    this.#shares = new Shares(openMax);
  }

  /** Counts a request until it is answered or its connection is closed, or says whose bound is reached. */
  take(
    { socket }: Pick<IncomingMessage, 'socket'>,
    response: Pick<ServerResponse, 'once'>,
    caller: Caller,
  ): 'caller' | 'all' | undefined {
    const isOrganisation = 'orgId' in caller;
    const name = isOrganisation ? caller.orgId : caller.network;
    const bound = this.#shares.take(name, isOrganisation ? PART_OF_ORGANISATION : undefined);
    if (bound !== undefined) return bound === 'all' ? 'all' : 'caller';
    const open = this.#openOn(socket);
    const release = (): void => {
      if (open.delete(release)) this.#shares.giveBack(name);
    };
    open.add(release);
    response.once('close', release);
    return undefined;
  }

  /** An answer that waits for the one before it is not told when its connection closes. */
  #openOn(socket: Socket): Set<() => void> {
    const found = this.#open.get(socket);
    if (found !== undefined) return found;
    const open = new Set<() => void>();
    this.#open.set(socket, open);
    socket.once('close', () => open.forEach((release) => release()));
    return open;
  }
}
