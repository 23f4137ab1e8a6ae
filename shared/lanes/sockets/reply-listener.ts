import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import {
  apiPlace,
  BATCH_BYTES_MAX,
  CHALLENGE_BYTES,
  decodeDirect,
  encodeCount,
  encodeText,
  Pieces,
  PROOF_BYTES_MAX,
  workerPlace,
} from '../direct-replies.ts';
import type { Reply } from '../messages.ts';
import type { Seals } from '../seals.ts';
import { forgetAddress, newAddress, pathOf } from './address.ts';

/** Workers of one machine; what else connects has no proof and stays for a second. */
const CONNECTIONS_MAX = 1_024;
const PROOF_MS = 1_000;
/** What is taken is told so much later, once for all that came meanwhile: until then its worker keeps it. */
const COUNT_MS = 100;

export interface ReplyListenerOptions {
  processId: string;
  seals: Pick<Seals, 'seal' | 'open'>;
  onReply: (reply: Reply, payload: string) => void;
  onError: (error: unknown) => void;
}

/** Hears the workers on this machine, each over a connection of its own. */
export class ReplyListener {
  /** Where workers find it. */
  readonly address = newAddress();
  readonly #options: ReplyListenerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(options: ReplyListenerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#hear(socket));
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  async start(): Promise<void> {
    this.#server.listen({ path: pathOf(this.address)! });
    await once(this.#server, 'listening');
    this.#server.on('error', this.#options.onError);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    forgetAddress(this.address);
  }

  #hear(socket: Socket): void {
    const challenge = randomBytes(CHALLENGE_BYTES);
    const pieces = new Pieces();
    let isProven = false;
    let taken = 0;
    let counting: NodeJS.Timeout | undefined;
    const count = (): void => {
      counting = undefined;
      socket.write(encodeCount(taken));
    };
    const late = setTimeout(() => socket.destroy(), PROOF_MS);
    this.#sockets.add(socket);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      clearTimeout(late);
      clearTimeout(counting);
    });
    // A connection that breaks is closed: its worker sends again by the inbox what it was not told to be taken.
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => {
      pieces.add(piece);
      try {
        if (!isProven) {
          const proof = pieces.takeFrame(PROOF_BYTES_MAX);
          if (proof === undefined) return;
          socket.write(this.#answerTo(proof.toString('latin1'), challenge));
          clearTimeout(late);
          isProven = true;
        }
        for (;;) {
          const frame = pieces.takeFrame(BATCH_BYTES_MAX);
          if (frame === undefined) return;
          for (const { reply, payload } of decodeDirect(frame)) this.#take(reply, payload);
          taken += 1;
          counting ??= setTimeout(count, COUNT_MS);
        }
      } catch (error) {
        this.#options.onError(error);
        socket.destroy();
      }
    });
    socket.write(challenge);
  }

  /** @throws Error where the worker has not proven that it holds the lane keys */
  #answerTo(proof: string, challenge: Buffer): Buffer {
    const { processId, seals } = this.#options;
    const opened = Buffer.from(seals.open(proof, workerPlace(processId, this.address)), 'base64');
    const own = opened.subarray(0, CHALLENGE_BYTES);
    if (own.length !== CHALLENGE_BYTES || !timingSafeEqual(own, challenge))
      throw new Error('a connection for direct replies was refused: its proof is of another one');
    const theirs = opened.subarray(CHALLENGE_BYTES).toString('base64');
    return encodeText(seals.seal(theirs, apiPlace(processId, this.address)));
  }

  #take(reply: Reply, payload: string): void {
    try {
      this.#options.onReply(reply, payload);
    } catch (error) {
      // One bad message must not stop the others.
      this.#options.onError(error);
    }
  }
}
