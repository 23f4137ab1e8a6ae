import { PATIENCE } from '#patience';
import { circuitName } from '../circuit-breaker.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { poll, type Polled } from './poll.ts';

/**
 * A sorted set: `<open|trial|reached|answers|closed> <region> <endpoint> <worker>`, scored by when it is no longer believed, by the clock of
 * the server. One key, so any node of a cluster can hold it; the members of a worker that dies end within seconds.
 */
const KEY = 'circuits';
/** Workers repeat themselves every second; two that are lost do not matter. */
const BELIEVED_MS = 4_000 * PATIENCE;

/** ARGV: how long it is believed, the number of members said, those members, members taken back. */
export const PUBLISH = `
local time = redis.call('TIME')
local until_ms = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
for i = 3, #ARGV do
  if i < 3 + ARGV[2] then redis.call('ZADD', KEYS[1], until_ms, ARGV[i])
  else redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return redis.status_reply('OK')`;

export const READ = `
local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('ZRANGE', KEYS[1], 0, -1)`;

/** The state of one endpoint in one region, as one inference worker knows it. */
export interface CircuitReport {
  region: string;
  endpoint: string;
  /** False: a call went well lately, which stands against what others say. */
  open: boolean;
  /** It is open, and the next request may try whether it still has to be. */
  trial?: boolean;
  /** And something answers at its address: requests that could go elsewhere may try it as well. */
  reached?: boolean;
  /** What opened it is no lack of a connection, and few have met it: an organisation that has not may try it as well. */
  answers?: boolean;
}

export type CircuitBoard = ReturnType<typeof createCircuitBoard>;

/** Publishes what one inference worker knows of endpoints, for all processes. `worker` must hold no space. */
export function createCircuitBoard(client: RedisClient, worker: string) {
  let said: readonly string[] = [];
  return {
    /** Replaces what this worker said before. It is forgotten soon unless it is said again. */
    async publish(reports: readonly CircuitReport[]): Promise<void> {
      const now = reports.flatMap(({ region, endpoint, ...report }) => {
        const states = [
          report.open ? 'open' : 'closed',
          ...(report.trial === true ? ['trial'] : []),
          ...(report.reached === true ? ['reached'] : []),
          ...(report.answers === true ? ['answers'] : []),
        ];
        return states.map((state) => `${state} ${circuitName(region, endpoint)} ${worker}`);
      });
      const withdrawn = said.filter((member) => !now.includes(member));
      if (now.length + withdrawn.length === 0) return;
      await client.eval(PUBLISH, 1, KEY, BELIEVED_MS, now.length, ...now, ...withdrawn);
      // Only now: what could not be taken back must be taken back the next time.
      said = now;
    },
  };
}

/**
 * The `circuitName`s of the circuits that are open, of those whose trial is due, of those where something answers again, and of
 * those that few have opened by failures that may be their own.
 */
export interface OpenCircuits {
  open: ReadonlySet<string>;
  trial: ReadonlySet<string>;
  reached: ReadonlySet<string>;
  answers: ReadonlySet<string>;
}

/** The circuits as they stand now. */
export async function readCircuits(client: RedisClient): Promise<OpenCircuits> {
  return openIn((await client.eval(READ, 1, KEY)) as string[]);
}

/** The open circuits, read once a second. `onError` hears of reads that fail. */
export function watchCircuits(
  client: RedisClient,
  onError: (error: Error) => void,
): Polled<OpenCircuits> {
  return poll<OpenCircuits>(
    () => readCircuits(client),
    { open: new Set(), trial: new Set(), reached: new Set(), answers: new Set() },
    onError,
  );
}

/** Open is what some worker says is open and none has called with success lately: one may be cut off by itself. */
function openIn(members: readonly string[]): OpenCircuits {
  const named = (word: string): string[] =>
    members
      .filter((member) => member.startsWith(`${word} `))
      .map((member) => member.slice(word.length + 1, member.lastIndexOf(' ')));
  const closed = new Set(named('closed'));
  const isOpen = (name: string): boolean => !closed.has(name);
  return {
    open: new Set(named('open').filter(isOpen)),
    trial: new Set(named('trial').filter(isOpen)),
    reached: new Set(named('reached').filter(isOpen)),
    answers: new Set(named('answers').filter(isOpen)),
  };
}
