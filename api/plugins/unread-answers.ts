import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Stream } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { callerNetwork } from './caller-network.ts';
import { classOf } from './rates.ts';

const MIB = 1024 * 1024;
/** Sixteen answers of the largest request for embeddings, for an organisation. */
const BYTES_OF_INFERENCE_MAX = 320 * MIB;
/** What else an organisation or an address has been sent: some two hundred of the largest lists of receipts. */
const BYTES_OF_READER_MAX = 64 * MIB;
const BYTES_OF_ALL_MAX = 2 * BYTES_OF_INFERENCE_MAX;
/** What an answer counts as at least: the process holds its request as well. */
const ANSWER_BYTES_MIN = 16 * 1024;
/** And a file that is being sent, which is open: 64 of them for an organisation. */
const FILE_BYTES_MIN = MIB;
/** A reader that takes nothing for so long is not reading. */
const READER_PATIENCE_MS = 60_000;

/** The part of a response that is asked of it. */
export type UnreadResponse = Pick<
  ServerResponse,
  'setTimeout' | 'writableFinished' | 'writableLength'
> & {
  req: { socket: Pick<Socket, 'destroyed' | 'destroy' | 'setTimeout' | 'timeout'> & Closing };
} & Closing;

interface Closing {
  once(event: 'close', listener: () => void): unknown;
}

/** Who is to read an answer, and how much of theirs may be unread. */
interface Reader {
  name: string;
  bytesMax: number;
}

/** What one reader has not taken. */
interface Account {
  name: string;
  bytes: number;
  /** Oldest first. */
  answers: Set<Unread>;
}

interface Unread {
  account: Account;
  bytes: number;
  response: UnreadResponse;
}

interface Written {
  request: FastifyRequest;
  response: UnreadResponse;
  bytesMin: number;
}

/**
 * Bounds what has been written to connections whose readers have not taken it yet: a client that asks for many answers and
 * reads none would have the process hold them all. Over the bound, those go first that have been waiting longest among
 * the answers of the reader with the most. An answer that its connection takes at once, as those of clients that read do,
 * is never counted.
 */
export class UnreadAnswers {
  readonly #unread = new Map<UnreadResponse, Unread>();
  /** Of readers that have something unread, by name. */
  readonly #accounts = new Map<string, Account>();
  readonly #ofConnection = new WeakMap<object, Set<Unread>>();
  #written: Written[] = [];
  #bytes = 0;

  /** Bytes of all of them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bounds all answers of `app`. To be called behind all other hooks that run when an answer is sent. */
  limit(app: FastifyInstance): void {
    app.addHook('onSend', (request, reply, payload, next) => {
      const bytesMin = payload instanceof Stream ? FILE_BYTES_MIN : 0;
      this.written(request, reply.raw, bytesMin);
      next();
    });
  }

  /**
   * An answer, or the last of it, is written in this turn; whether it was taken is looked at in the next. It counts as
   * `bytesMin` at least where it was not.
   */
  written(request: FastifyRequest, response: UnreadResponse, bytesMin = 0): void {
    // What Fastify injects has no connection.
    if (!(request.raw.socket instanceof Socket)) return;
    if (this.#written.push({ request, response, bytesMin }) === 1) setImmediate(() => this.#look());
  }

  #look(): void {
    const written = this.#written;
    this.#written = [];
    for (const { request, response, bytesMin } of written) {
      if (response.writableFinished || response.req.socket.destroyed) continue;
      const bytes = Math.max(ANSWER_BYTES_MIN, bytesMin, response.writableLength);
      this.add(readerOf(request), bytes, response);
    }
  }

  /** So many bytes are for a reader that has not taken them. */
  add(reader: Reader, bytes: number, response: UnreadResponse): void {
    const { socket } = response.req;
    if (socket.destroyed || this.#unread.has(response)) return;
    const account = this.#accountOf(reader.name);
    const one = { account, bytes, response };
    this.#unread.set(response, one);
    account.answers.add(one);
    this.#count(account, bytes);
    this.#connectionOf(socket).add(one);
    response.once('close', () => this.#taken(one));
    // Node counts a write that went on since it last looked, however slowly, as activity: it looks once more then.
    response.setTimeout(READER_PATIENCE_MS, () => void socket.destroy());
    while (account.bytes > reader.bytesMax && this.#cutOldest(account, one));
    while (this.#bytes > BYTES_OF_ALL_MAX && this.#cutOldest(this.#largest(), one));
  }

  #accountOf(name: string): Account {
    let account = this.#accounts.get(name);
    if (account === undefined) {
      account = { name, bytes: 0, answers: new Set() };
      this.#accounts.set(name, account);
    }
    return account;
  }

  /** What is unread on one connection, which is cut off together. */
  #connectionOf(socket: UnreadResponse['req']['socket']): Set<Unread> {
    let connection = this.#ofConnection.get(socket);
    if (connection === undefined) {
      const all = new Set<Unread>();
      connection = all;
      this.#ofConnection.set(socket, all);
      socket.once('close', () => all.forEach((one) => this.#remove(one)));
    }
    return connection;
  }

  /** Returns whether there was one to be cut off beside the newest, which has had no time to be read. */
  #cutOldest({ answers }: Account, newest: Unread): boolean {
    const [oldest] = answers;
    if (oldest === undefined || oldest === newest) return false;
    const { socket } = oldest.response.req;
    for (const one of this.#connectionOf(socket)) this.#remove(one);
    socket.destroy();
    return true;
  }

  #largest(): Account {
    const accounts = [...this.#accounts.values()];
    return accounts.reduce((most, one) => (one.bytes > most.bytes ? one : most));
  }

  #taken(one: Unread): void {
    this.#remove(one);
    const { socket } = one.response.req;
    // What comes next on the connection may take its time to be made.
    if (this.#connectionOf(socket).size === 0 && socket.timeout === READER_PATIENCE_MS)
      socket.setTimeout(0);
  }

  #remove(one: Unread): void {
    const { account, bytes, response } = one;
    this.#connectionOf(response.req.socket).delete(one);
    if (!this.#unread.delete(response)) return;
    account.answers.delete(one);
    this.#count(account, -bytes);
    if (account.answers.size === 0) this.#accounts.delete(account.name);
  }

  #count(account: Account, bytes: number): void {
    account.bytes += bytes;
    this.#bytes += bytes;
  }
}

/** The organisation of the key, for inference and for the rest by itself; the address where there is none. */
function readerOf(request: FastifyRequest): Reader {
  const { credential } = request;
  const bytesMax = BYTES_OF_READER_MAX;
  if (credential === null) return { name: `address ${callerNetwork(request.ip)}`, bytesMax };
  const { orgId } = credential;
  return classOf(request) === 'inference'
    ? { name: `inference ${orgId}`, bytesMax: BYTES_OF_INFERENCE_MAX }
    : { name: `organisation ${orgId}`, bytesMax };
}
