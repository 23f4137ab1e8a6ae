import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Shares } from './shares.ts';

/**
 * Requests of all that are not answered: one for each connection that a process takes. A network alone has a fifth of them,
 * which is as many as it has connections, so that only one that sends ahead comes to it.
 */
const OPEN_MAX = 16_384;
/** An organisation has as many as are free, as its bodies do: alone half, and the other half is there for others. */
const SHARE_OF_ORGANISATION = 1;

export interface Callers {
  /** None where it is a proxy, whose requests are those of many. */
  network: string | undefined;
  /** Where the key is known to be good. */
  orgId: string | undefined;
}

/** Counts the requests of each network and each organisation that are not answered, within shares of all. */
export class RequestsOfCallers {
  readonly #ofNetworks: Shares;
  readonly #ofOrganisations: Shares;
  readonly #open = new WeakMap<Socket, Set<() => void>>();

  constructor(openMax = OPEN_MAX) {
    this.#ofNetworks = new Shares(openMax);
    this.#ofOrganisations = new Shares(openMax, SHARE_OF_ORGANISATION);
  }

  /** Counts a request until it is answered or its connection is closed; says whether there was room for it. */
  take(
    { socket }: Pick<IncomingMessage, 'socket'>,
    response: Pick<ServerResponse, 'once'>,
    { network, orgId }: Callers,
  ): boolean {
    if (this.#ofNetworks.take(network) !== undefined) return false;
    if (orgId !== undefined && this.#ofOrganisations.take(orgId) !== undefined) {
      this.#ofNetworks.giveBack(network);
      return false;
    }
    const open = this.#openOn(socket);
    const release = (): void => {
      if (!open.delete(release)) return;
      this.#ofNetworks.giveBack(network);
      if (orgId !== undefined) this.#ofOrganisations.giveBack(orgId);
    };
    open.add(release);
    response.once('close', release);
    return true;
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
