import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisClient } from './connect.ts';
import { callReplicated } from './replicated.ts';

type Script = (...keysAndArguments: (string | number | Buffer)[]) => Promise<unknown>;

/** The file of a script and the number of its keys; null where that varies, and the caller passes it first. */
interface Source {
  file: string;
  /** The file of functions that it calls, which stands before it: who holds an entry, or how rates are counted. */
  calls?: 'holding.lua' | 'rates.lua';
  keyCount: number | null;
}

const SOURCES = {
  admit: { file: 'admission.lua', keyCount: 9, calls: 'rates.lua' },
  takeArrival: { file: 'take-arrival.lua', keyCount: 2, calls: 'rates.lua' },
  lookAtLimits: { file: 'look-at-limits.lua', keyCount: 2, calls: 'rates.lua' },
  settleClaim: { file: 'settle-claim.lua', keyCount: 4, calls: 'holding.lua' },
  withdraw: { file: 'withdraw.lua', keyCount: 1 },
  gone: { file: 'gone.lua', keyCount: 1 },
  handOn: { file: 'hand-on.lua', keyCount: 6, calls: 'holding.lua' },
  dropConsumer: { file: 'drop-consumer.lua', keyCount: 1 },
  takeOver: { file: 'take-over.lua', keyCount: 1, calls: 'holding.lua' },
  apply: { file: 'apply.lua', keyCount: null, calls: 'holding.lua' },
} satisfies Record<string, Source>;

export type LaneScripts = Record<keyof typeof SOURCES, Script>;

/**
 * Makes the lane scripts callable on a connection: by their hash, and by their text where the server does not know them
 * yet or any more. (The client's `defineCommand` does the same, but each of its commands keeps the one before it alive
 * until the next full garbage collection.)
 */
export function defineLaneScripts(client: RedisClient): LaneScripts {
  const scripts = {} as LaneScripts;
  for (const name of Object.keys(SOURCES) as (keyof LaneScripts)[]) {
    scripts[name] = scriptOf(client, SOURCES[name]);
  }
  return scripts;
}

const textOf = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');

function scriptOf(client: RedisClient, { file, keyCount, calls }: Source): Script {
  const lua = (calls === undefined ? '' : textOf(calls)) + textOf(file);
  const sha = hash('sha1', lua);
  const [byHash, byText] = client.isCluster
    ? [replicated(client, 'EVALSHA'), replicated(client, 'EVAL')]
    : [client.evalsha.bind(client), client.eval.bind(client)];
  return (...given) => {
    const [count, ...rest] = keyCount === null ? given : [keyCount, ...given];
    return byHash(sha, Number(count), ...rest).catch((error: unknown) => {
      if (!String(error).includes('NOSCRIPT')) throw error;
      return byText(lua, Number(count), ...rest);
    });
  };
}

type Run = (
  script: string,
  count: number,
  ...rest: (string | number | Buffer)[]
) => Promise<unknown>;

function replicated(client: RedisClient, name: 'EVALSHA' | 'EVAL'): Run {
  return (script, count, ...rest) =>
    callReplicated(client, String(rest[0]), name, script, count, ...rest);
}
