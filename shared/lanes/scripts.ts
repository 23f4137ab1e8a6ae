import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisClient } from '../adapters/redis/connect.ts';

type Script = (...keysAndArguments: (string | number | Buffer)[]) => Promise<unknown>;

export interface LaneScripts {
  admit: Script;
  settleClaim: Script;
  withdraw: Script;
  dropConsumer: Script;
  /** Takes the number of its keys first: it varies. */
  apply: Script;
}

const KEY_COUNTS: Record<keyof LaneScripts, number | undefined> = {
  admit: 8,
  settleClaim: 3,
  withdraw: 1,
  dropConsumer: 1,
  apply: undefined,
};
const FILES: Record<keyof LaneScripts, string> = {
  admit: 'admission.lua',
  settleClaim: 'settle-claim.lua',
  withdraw: 'withdraw.lua',
  dropConsumer: 'drop-consumer.lua',
  apply: 'apply.lua',
};

/**
 * Makes the lane scripts callable on a connection: by their hash, and by their text where the server does not know them
 * yet or any more. (The client's `defineCommand` does the same, but each of its commands keeps the one before it alive
 * until the next full garbage collection.)
 */
export function defineLaneScripts(client: RedisClient): LaneScripts {
  const scripts = {} as LaneScripts;
  for (const name of Object.keys(FILES) as (keyof LaneScripts)[]) {
    scripts[name] = scriptOf(client, FILES[name], KEY_COUNTS[name]);
  }
  return scripts;
}

/** Without `keyCount` the caller passes the number of keys first. */
function scriptOf(client: RedisClient, file: string, keyCount: number | undefined): Script {
  const lua = readFileSync(new URL(file, import.meta.url), 'utf8');
  const sha = hash('sha1', lua);
  return (...given) => {
    const [count, ...rest] = keyCount === undefined ? given : [keyCount, ...given];
    return client.evalsha(sha, Number(count), ...rest).catch((error: unknown) => {
      if (!String(error).includes('NOSCRIPT')) throw error;
      return client.eval(lua, Number(count), ...rest);
    });
  };
}
