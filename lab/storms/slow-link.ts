import { once } from 'node:events';
import {
  type AddressInfo,
  createConnection,
  createServer,
  type Server,
  type Socket,
} from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Bytes that are on their way in one direction: beyond them the sender is held up, as by a window of TCP. */
const UNDER_WAY_BYTES_MAX = 1 << 20;

/** The time that what is sent now takes to arrive. */
export type Latency = () => number;
const AT_ONCE: Latency = () => 0;

/** A link over which bytes arrive late, and in order. Kernels need not have netem for it. */
export class SlowLink {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #latency = AT_ONCE;

  /** Takes connections at an address, and carries each to `target`. */
  static async open(address: string, target: { host: string; port: number }): Promise<SlowLink> {
    const link = new SlowLink(target);
    link.#server.listen(0, address);
    await once(link.#server, 'listening');
    return link;
  }

  private constructor(target: { host: string; port: number }) {
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
      const far = createConnection({ ...target, allowHalfOpen: true, noDelay: true });
      this.#carry(near, far);
      this.#carry(far, near);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Each piece of each direction takes a time of its own from now on; none when absent. */
  slow(latency: Latency = AT_ONCE): void {
    this.#latency = latency;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #carry(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    let dueAt = 0;
    let underWay = 0;
    let last = Promise.resolve();
    const arriveAt = async (before: Promise<void>, at: number, arrive: () => void) => {
      await before;
      const waitMs = at - performance.now();
      if (waitMs > 0) await delay(waitMs);
      if (!to.destroyed) arrive();
    };
    const later = (arrive: () => void): void => {
      // Never before what was sent earlier, and at once with it where its own time would be shorter.
      dueAt = Math.max(dueAt, performance.now() + this.#latency());
      last = arriveAt(last, dueAt, arrive);
    };
    from.on('data', (piece: Buffer) => {
      underWay += piece.length;
      if (underWay > UNDER_WAY_BYTES_MAX) from.pause();
      later(() =>
        to.write(piece, () => {
          underWay -= piece.length;
          if (underWay <= UNDER_WAY_BYTES_MAX) from.resume();
        }),
      );
    });
    from.on('end', () => later(() => to.end()));
    // What it ended by is told to the other end by its connection's end.
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      later(() => to.destroySoon());
    });
  }
}
