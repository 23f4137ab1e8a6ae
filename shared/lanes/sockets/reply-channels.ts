import { randomBytes, timingSafeEqual } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import {
  apiPlace,
  CHALLENGE_BYTES,
  encodeDirect,
  encodeText,
  moreThan,
  Pieces,
  PROOF_BYTES_MAX,
  workerPlace,
} from '../direct-replies.ts';
import { aliveKey } from '../keys.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Seals } from '../seals.ts';
import type { Outgoing } from '../wire-format.ts';
import { pathOf } from './address.ts';

/** A process that could not be reached is on another machine, most likely. */
const AGAIN_MS = 10_000;
const GREETING_MS = 1_000;
/**
 * Characters that a process may be behind. What streams have on their way is bounded by what their clients have taken, so
 * more is of a process that stands still: it finds the rest in its inbox.
 */
const BEHIND_CHARS_MAX = 64 * 1024 * 1024;
/** At its end a worker waits so long for its words to be taken; then they go by the inbox. */
const SETTLE_MS = 1_000;
/**
 * So long what is to be written waits for the kernel to have what was told before it. A process that reads has a socket's
 * two hundred kilobytes within milliseconds; one that stands still holds up others no longer than this, and then has its
 * inbox.
 */
const PASS_MS = 250;

/** A connection to an api process. It keeps what it is given until the process has taken it. */
export class ReplyChannel {
  readonly processId: string;
  readonly #socket: Socket;
  readonly #onBroken: (channel: ReplyChannel) => void;
  #kept: (readonly Outgoing[])[] = [];
  #chars = 0;
  #counted = 0;
  #isOpen = true;
  #whenTaken: (() => void)[] = [];
  #whenPassed: (() => void)[] = [];

  /** `socket` has been proven to lead to the process. */
  constructor(processId: string, socket: Socket, onBroken: (channel: ReplyChannel) => void) {
    this.processId = processId;
    this.#socket = socket;
    this.#onBroken = onBroken;
    socket.on('close', () => this.break());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends batches of messages, in order, behind all before them. They are kept where the connection is no longer there. */
  tell(batches: readonly (readonly Outgoing[])[]): void {
    this.#kept.push(...batches);
    for (const { payload } of batches.flat()) this.#chars += payload.length;
    if (this.#chars > BEHIND_CHARS_MAX) return this.break();
    for (const batch of batches) this.#socket.write(encodeDirect(batch), () => this.#tellPassed());
  }

  /** All that was told is with the kernel, and comes to the process also when this one dies. */
  get hasPassed(): boolean {
    return !this.#isOpen || this.#socket.writableLength === 0;
  }

  /** Resolves when that is so, or the connection has ended. */
  allPassed(): Promise<void> {
    if (this.hasPassed) return Promise.resolve();
    return new Promise((resolve) => this.#whenPassed.push(resolve));
  }

  /** The process has taken so many batches, as it counts them. @throws RangeError for more than there were */
  counted(count: number): void {
    const taken = moreThan(this.#counted, count);
    if (taken > this.#kept.length) throw new RangeError('more is taken than was sent');
    this.#counted = count;
    for (const { payload } of this.#kept.slice(0, taken).flat()) this.#chars -= payload.length;
    this.#kept = this.#kept.slice(taken);
    if (this.#kept.length === 0) this.#tellTaken();
  }

  /** Resolves when everything was taken, or the connection has ended. */
  allTaken(): Promise<void> {
    if (this.#kept.length === 0 || !this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#whenTaken.push(resolve));
  }

  /** Hands back what may not have been taken, in order. */
  takeBack(): Outgoing[] {
    const kept = this.#kept.flat();
    this.#kept = [];
    return kept;
  }

  break(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket.destroy();
    this.#onBroken(this);
    this.#tellTaken();
    this.#tellPassed();
  }

  #tellPassed(): void {
    if (this.#whenPassed.length === 0 || !this.hasPassed) return;
    for (const resolve of this.#whenPassed.splice(0)) resolve();
  }

  #tellTaken(): void {
    const waiting = this.#whenTaken;
    this.#whenTaken = [];
    for (const resolve of waiting) resolve();
  }
}

export interface ReplyChannelsOptions {
  client: Pick<RedisClient, 'get'>;
  seals: Pick<Seals, 'seal' | 'open'>;
  onError: (error: unknown) => void;
  /** Told once of each channel that breaks: what it held goes by the inbox, before anything else to its process. */
  onBroken: (channel: ReplyChannel) => void;
}

/**
 * The connections of a worker to the api processes on its machine, which are made when something is to be told. An api
 * process says beside its sign of life where it listens; one that cannot be reached there has its inbox.
 */
export class ReplyChannels {
  readonly #options: ReplyChannelsOptions;
  readonly #open = new Map<string, ReplyChannel>();
  /** When processes that could not be reached are tried again; `Infinity` while they are. */
  readonly #againAt = new Map<string, number>();
  readonly #greeting = new Set<Socket>();
  #closed = false;

  constructor(options: ReplyChannelsOptions) {
    this.#options = options;
  }

  /** The connection to a process; undefined while there is none. */
  to(processId: string): ReplyChannel | undefined {
    const open = this.#open.get(processId);
    if (open === undefined) this.#seek(processId);
    return open;
  }

  /** Resolves when all that was told is taken. Where that takes long, connections are given up, so that it goes by inboxes. */
  async settled(): Promise<void> {
    const channels = [...this.#open.values()];
    const late = setTimeout(() => {
      for (const channel of channels) channel.break();
    }, SETTLE_MS);
    await Promise.all(channels.map((channel) => channel.allTaken()));
    clearTimeout(late);
  }

  /**
   * Resolves when all that was told comes to its process, though this one dies now. Where that takes long, connections are
   * given up, so that it goes by inboxes.
   */
  async passed(): Promise<void> {
    const held = [...this.#open.values()].filter((channel) => !channel.hasPassed);
    if (held.length === 0) return;
    const late = setTimeout(() => {
      for (const channel of held) if (!channel.hasPassed) channel.break();
    }, PASS_MS);
    await Promise.all(held.map((channel) => channel.allPassed()));
    clearTimeout(late);
  }

  close(): void {
    this.#closed = true;
    for (const socket of this.#greeting) socket.destroy();
    for (const channel of this.#open.values()) channel.break();
  }

  #seek(processId: string): void {
    if (this.#closed || performance.now() < (this.#againAt.get(processId) ?? 0)) return;
    for (const [id, at] of this.#againAt) if (at <= performance.now()) this.#againAt.delete(id);
    this.#againAt.set(processId, Infinity);
    void this.#tryToReach(processId);
  }

  async #tryToReach(processId: string): Promise<void> {
    try {
      await this.#reach(processId);
    } catch (error) {
      this.#options.onError(error);
    }
    if (!this.#open.has(processId)) this.#againAt.set(processId, performance.now() + AGAIN_MS);
  }

  async #reach(processId: string): Promise<void> {
    const address = await this.#options.client.get(aliveKey(processId));
    const path = address === null ? undefined : pathOf(address);
    if (path === undefined || this.#closed) return;
    const socket = connect({ path });
    this.#greeting.add(socket);
    const greeting = new Promise<boolean>((resolve) =>
      this.#greet(socket, processId, address!, resolve),
    );
    const late = setTimeout(() => socket.destroy(), GREETING_MS);
    const isThere = await greeting;
    clearTimeout(late);
    this.#greeting.delete(socket);
    if (!isThere) socket.destroy();
  }

  /** Proves to each other who they are, and reads counts from then on. */
  #greet(
    socket: Socket,
    processId: string,
    address: string,
    resolve: (isThere: boolean) => void,
  ): void {
    const { seals, onError } = this.#options;
    const own = randomBytes(CHALLENGE_BYTES);
    const pieces = new Pieces();
    let stage: 'challenge' | 'proof' | 'open' = 'challenge';
    let channel: ReplyChannel | undefined;
    socket.on('error', () => {});
    socket.on('close', () => resolve(false));
    const read = (): boolean => {
      if (stage === 'challenge') {
        const challenge = pieces.take(CHALLENGE_BYTES);
        if (challenge === undefined) return false;
        const proof = Buffer.concat([challenge, own]).toString('base64');
        socket.write(encodeText(seals.seal(proof, workerPlace(processId, address))));
        stage = 'proof';
        return true;
      }
      if (stage === 'proof') {
        const proof = pieces.takeFrame(PROOF_BYTES_MAX)?.toString('latin1');
        if (proof === undefined) return false;
        const opened = Buffer.from(seals.open(proof, apiPlace(processId, address)), 'base64');
        if (opened.length !== own.length || !timingSafeEqual(opened, own))
          throw new Error('what listens for direct replies has not proven that it is the process');
        channel = this.#opened(processId, socket);
        stage = 'open';
        resolve(true);
        return true;
      }
      const count = pieces.take(4);
      if (count !== undefined) channel!.counted(count.readUInt32BE(0));
      return count !== undefined;
    };
    socket.on('data', (piece: Buffer) => {
      pieces.add(piece);
      try {
        while (read());
      } catch (error) {
        onError(error);
        socket.destroy();
      }
    });
  }

  #opened(processId: string, socket: Socket): ReplyChannel {
    const channel = new ReplyChannel(processId, socket, (broken) => {
      this.#open.delete(processId);
      this.#againAt.set(processId, performance.now() + AGAIN_MS);
      this.#options.onBroken(broken);
    });
    this.#againAt.delete(processId);
    this.#open.set(processId, channel);
    return channel;
  }
}
