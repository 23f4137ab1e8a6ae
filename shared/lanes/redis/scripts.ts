import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisClient } from './connect.ts';
import { callReplicated, mayFailOver } from './replicated.ts';

type Value = string | number | Buffer;

/** A script in its file, which names its keys and arguments (`KEYS.lane`, `ARGV.group`) as its header explains them. */
interface Source {
  file: string;
  /** The files of functions that it calls, which stand before it: who holds an entry, how rates and budgets are counted. */
  calls?: readonly ('holding.lua' | 'rates.lua' | 'budgets.lua')[];
  keys: readonly string[];
  args: readonly string[];
  /** What follows these, as much as there is: arguments from `MORE` on, or keys and such arguments. */
  takes?: 'more arguments' | 'more keys and arguments';
}

const RATE = ['interval', 'burst', 'keyInterval', 'keyBurst'] as const;
const DELIVERY = ['group', 'entryId', 'consumer', 'number'] as const;

const SOURCES = {
  admit: {
    file: 'admission.lua',
    calls: ['rates.lua', 'budgets.lua'],
    keys: [
      'orgLimits',
      'keyLimits',
      'leases',
      'lane',
      'receiptsLane',
      'body',
      'claim',
      'waiters',
      'held',
    ],
    args: [
      ...RATE,
      'what',
      'requestId',
      'entry',
      'perDay',
      'streams',
      'leaseMs',
      'leasesMs',
      'laneMax',
      'heldMax',
      'receiptsMax',
      'waitersMax',
      'fingerprint',
      'waiter',
      'largeBody',
      'lifeS',
      'deadlineMs',
      'refusedRecord',
      'clockUs',
      'untilUs',
    ],
    takes: 'more keys and arguments',
  },
  countBudget: { file: 'count-budget.lua', keys: ['counter'], args: ['used', 'lifeS'] },
  takeArrival: {
    file: 'take-arrival.lua',
    calls: ['rates.lua'],
    keys: ['orgBucket', 'keyBucket'],
    args: RATE,
  },
  lookAtLimits: {
    file: 'look-at-limits.lua',
    calls: ['rates.lua'],
    keys: ['orgLimits', 'keyLimits'],
    args: [...RATE, 'perDay'],
  },
  settleClaim: {
    file: 'settle-claim.lua',
    calls: ['holding.lua'],
    keys: ['claim', 'waiters', 'answer', 'lane'],
    args: [...DELIVERY, 'requestId', 'receipt', 'storedS', 'attempt', 'kept'],
  },
  leave: {
    file: 'leave.lua',
    keys: ['leases', 'claim'],
    args: ['requestId', 'runs', 'answeredMs', 'leasesMs'],
  },
  withdraw: {
    file: 'withdraw.lua',
    calls: ['budgets.lua'],
    keys: ['lane'],
    args: ['group', 'entryId'],
    takes: 'more keys and arguments',
  },
  gone: { file: 'gone.lua', keys: ['lane'], args: ['group'], takes: 'more arguments' },
  handOn: {
    file: 'hand-on.lua',
    calls: ['holding.lua'],
    keys: ['fromLane', 'toLane', 'fromHeld', 'toHeld', 'body', 'moved'],
    args: [
      ...DELIVERY,
      'requestId',
      'entry',
      'laneMax',
      'heldMax',
      'deadlineMs',
      'largeBody',
      'lifeS',
      'region',
    ],
  },
  dropConsumer: { file: 'drop-consumer.lua', keys: ['lane'], args: ['group', 'consumer'] },
  takeOver: {
    file: 'take-over.lua',
    calls: ['holding.lua'],
    keys: ['lane'],
    args: ['group', 'from', 'to'],
    takes: 'more arguments',
  },
  apply: {
    file: 'apply.lua',
    calls: ['holding.lua', 'budgets.lua'],
    keys: [],
    args: ['group', 'inboxMax', 'togetherMax', 'togetherBelow'],
    takes: 'more keys and arguments',
  },
} as const satisfies Record<string, Source>;

type Named<S extends Source> = Record<S['keys'][number], string> & Record<S['args'][number], Value>;

interface Further {
  moreKeys?: readonly string[];
  moreArguments: readonly Value[];
}

type Given<S extends Source> = S extends { takes: 'more keys and arguments' }
  ? Named<S> & Required<Further>
  : S extends { takes: 'more arguments' }
    ? Named<S> & Omit<Further, 'moreKeys'>
    : Named<S>;

export type LaneScripts = {
  [Name in keyof typeof SOURCES]: (given: Given<(typeof SOURCES)[Name]>) => Promise<unknown>;
};

/**
 * Makes the lane scripts callable on a connection: by their hash, and by their text where the server does not know them
 * yet or any more. (The client's `defineCommand` does the same, but each of its commands keeps the one before it alive
 * until the next full garbage collection.)
 */
export function defineLaneScripts(client: RedisClient): LaneScripts {
  const scripts = Object.entries(SOURCES).map(([name, source]) => [name, scriptOf(client, source)]);
  return Object.fromEntries(scripts) as LaneScripts;
}

const textOf = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');

type AnyGiven = Record<string, Value> & Partial<Further>;

function scriptOf(client: RedisClient, source: Source): (given: AnyGiven) => Promise<unknown> {
  const { calls = [] } = source;
  const lua = calls.map(textOf).join('') + placed(textOf(source.file), source);
  const sha = hash('sha1', lua);
  const [byHash, byText] = mayFailOver(client)
    ? [replicated(client, 'EVALSHA'), replicated(client, 'EVAL')]
    : [client.evalsha.bind(client), client.eval.bind(client)];
  return (given) => {
    const keys = [...source.keys.map((name) => given[name]!), ...(given.moreKeys ?? [])];
    const args = [...source.args.map((name) => given[name]!), ...(given.moreArguments ?? [])];
    const rest = [...keys, ...args];
    return byHash(sha, keys.length, ...rest).catch((error: unknown) => {
      if (!String(error).includes('NOSCRIPT')) throw error;
      return byText(lua, keys.length, ...rest);
    });
  };
}

/**
 * The text of a script with places for the names of its keys and arguments, which Redis knows by their places alone.
 * @throws Error for a name that the table has not, and for one that the script does not use
 */
export function placed(text: string, { file, keys, args }: Source): string {
  const unused = new Set([
    ...keys.map((name) => `KEYS.${name}`),
    ...args.map((name) => `ARGV.${name}`),
  ]);
  const lua = text.replaceAll(/\b(KEYS|ARGV)\.(\w+)/g, (whole, list: string, name: string) => {
    const place = (list === 'KEYS' ? keys : args).indexOf(name) + 1;
    if (place === 0) throw new Error(`${file} has no ${whole}`);
    unused.delete(whole);
    return `${list}[${place}]`;
  });
  if (unused.size > 0) throw new Error(`${file} does not use ${[...unused].join(', ')}`);
  return lua.replaceAll(/\bMORE\b(?! on)/g, String(args.length + 1));
}

type Run = (script: string, count: number, ...rest: Value[]) => Promise<unknown>;

function replicated(client: RedisClient, name: 'EVALSHA' | 'EVAL'): Run {
  return (script, count, ...rest) =>
    callReplicated(client, String(rest[0]), name, script, count, ...rest);
}
