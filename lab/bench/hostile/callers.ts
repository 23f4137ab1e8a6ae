/** Innocent callers, in a process of their own: ask small things at a steady pace, and say how long each took. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, callerAt } from './ask.ts';
import { chatOf, type Sent, signInOf, type Visit } from './attacks.ts';

const TICK_MS = 25;
/** In ticks: a page each fifth of a second, a sign-in each second and a half. */
const PAGE_EACH = 8;
const SIGN_IN_EACH = 60;

export interface Innocence {
  origin: string;
  /** Where the api says whether it is well. */
  health: string;
  key: string;
  session: string;
  visit: Visit;
  person: { email: string; password: string };
}

export interface Turn {
  seconds: number;
  signIns: boolean;
}

/** Milliseconds of each answer, by what was asked. */
export type Waits = Record<'chat' | 'read' | 'health' | 'page' | 'sign-in', number[]>;

/** Far from those of attackers. */
const caller = callerAt('127.0.0.2');
let signInCount = 0;

process.once('message', (innocence: Innocence) => {
  process.on('message', (turn: Turn) => {
    void measure(innocence, turn).then((waits) => process.send!(waits));
  });
  process.send!('ready');
});

async function measure(
  { origin, health, key, session, visit, person }: Innocence,
  { seconds, signIns }: Turn,
): Promise<Waits> {
  const bearer = { authorization: `Bearer ${key}` };
  const chat: Sent = {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { ...bearer, 'content-type': 'application/json' },
    body: chatOf('Why is the sky blue?'),
  };
  const read: Sent = { method: 'GET', path: '/v1/receipts?limit=1', headers: bearer };
  const page: Sent = { method: 'GET', path: '/dashboard/account', headers: { cookie: session } };
  const waits: Waits = { chat: [], read: [], health: [], page: [], 'sign-in': [] };
  const all: Promise<void>[] = [];
  const time = async (kind: keyof Waits, to: string, sent: Sent, by = caller): Promise<void> => {
    const begun = performance.now();
    const status = await ask(to, sent, by);
    // One that was refused has waited for ever.
    waits[kind].push(status > 0 && status < 400 ? performance.now() - begun : Infinity);
  };
  const end = Date.now() + seconds * 1_000;
  for (let tick = 0; Date.now() < end; tick += 1) {
    all.push(time('chat', origin, chat));
    all.push(time('read', origin, read));
    all.push(time('health', health, { method: 'GET', path: '/healthz', headers: {} }));
    if (tick % PAGE_EACH === 0) all.push(time('page', origin, page));
    if (signIns && tick % SIGN_IN_EACH === 0) {
      signInCount += 1;
      const elsewhere = callerAt(`127.0.1.${signInCount % 250}`);
      all.push(time('sign-in', origin, signInOf(visit, person), elsewhere));
    }
    await sleep(TICK_MS);
  }
  await Promise.all(all);
  return waits;
}
