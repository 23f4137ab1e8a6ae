import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Sent } from './attacks.ts';

/** Connections of a caller, and on each the requests that wait for their answers. */
export interface Pool {
  connections: number;
  pipelining: number;
}

/** A caller with an address of this machine, and with as many connections as it likes unless it has a pool. */
export const callerAt = (address: string, pool?: Pool): Agent =>
  new Agent({ localAddress: address, ...pool });

/** How slowly an answer is read, and when its client leaves. */
export interface Slowness {
  bytesPerSecond: number;
  /** Epoch milliseconds. */
  until: number;
}

/** The status of an answer that was read whole, or slowly until it was time to leave; 0 when there was none. */
export async function ask(
  origin: string,
  { method, path, headers, body }: Sent,
  dispatcher: Agent,
  slowness?: Slowness,
): Promise<number> {
  try {
    // Forms are taken from pages of the service alone.
    const sent = {
      method,
      headers: { origin, ...headers },
      body: body ?? null,
      dispatcher,
      // What is not so is not sent ahead of other answers.
      idempotent: true,
      blocking: false,
    };
    const answer = await request(origin + path, sent);
    // What is thrown away unread is not asked for to its end.
    if (slowness === undefined) for await (const _ of answer.body);
    else await readSlowly(answer.body, slowness);
    return answer.statusCode;
  } catch {
    return 0;
  }
}

/** How long one that reads no answers stays. */
const STAY_MS = 1_000;

/**
 * How a request is written on a connection of its own: so many times at once, byte by byte until then (epoch milliseconds),
 * or its first byte at once and what is behind it when all connections write theirs, which is once in so long.
 */
export type Writing =
  | { ahead: number }
  | { byteEachMs: number; until: number }
  | { togetherMs: number };

/** Writes a request and reads nothing; 0 when its connection is closed or was long enough. */
export function askUnread(
  origin: string,
  { method, path, headers, body = '' }: Sent,
  localAddress: string,
  writing: Writing,
): Promise<number> {
  const { hostname: host, port } = new URL(origin);
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\r\n`);
  const text = `${method} ${path} HTTP/1.1\r\nHost:a\r\n${lines.join('')}\r\n${body.toString()}`;
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), localAddress, noDelay: true });
    const end = write(socket, text, writing);
    socket.on('error', () => {});
    socket.once('close', () => {
      end();
      resolve(0);
    });
  });
}

/** Returns what ends it. */
function write(socket: Socket, text: string, writing: Writing): () => void {
  if ('ahead' in writing) return writeAhead(socket, text.repeat(writing.ahead));
  if ('togetherMs' in writing) return writeTogether(socket, text, writing.togetherMs);
  return writeBytes(socket, text, writing);
}

function writeAhead(socket: Socket, text: string): () => void {
  socket.write(text);
  const stay = setTimeout(() => socket.destroy(), STAY_MS);
  return () => clearTimeout(stay);
}

function writeTogether(socket: Socket, text: string, togetherMs: number): () => void {
  socket.write(text[0]!);
  const rest = text.slice(1);
  const waitMs = togetherMs - (Date.now() % togetherMs);
  let stay: NodeJS.Timeout | undefined;
  const writing = setTimeout(() => {
    socket.write(rest);
    stay = setTimeout(() => socket.destroy(), togetherMs);
  }, waitMs);
  socket.resume();
  return () => {
    clearTimeout(writing);
    clearTimeout(stay);
  };
}

function writeBytes(
  socket: Socket,
  text: string,
  { byteEachMs, until }: { byteEachMs: number; until: number },
): () => void {
  let at = 0;
  const writing = setInterval(() => {
    if (Date.now() >= until) socket.destroy();
    // What is behind the last byte begins the next request.
    else socket.write(text[at % text.length]!);
    at += 1;
  }, byteEachMs);
  socket.resume();
  return () => clearInterval(writing);
}

async function readSlowly(
  body: AsyncIterable<Buffer>,
  { bytesPerSecond, until }: Slowness,
): Promise<void> {
  for await (const { length } of body) {
    const waitMs = Math.min((length / bytesPerSecond) * 1_000, until - Date.now());
    if (waitMs > 0) await sleep(waitMs);
    if (Date.now() >= until) return;
  }
}
