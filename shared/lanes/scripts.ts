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

/** Makes the lane scripts callable on a connection (EVALSHA; loaded again by itself after a server restart). */
export function defineLaneScripts(client: RedisClient): LaneScripts {
  const scripts = {} as LaneScripts;
  for (const name of Object.keys(FILES) as (keyof LaneScripts)[]) {
    const lua = readFileSync(new URL(FILES[name], import.meta.url), 'utf8');
    const command = `docket${name}`;
    const numberOfKeys = KEY_COUNTS[name];
    client.defineCommand(command, numberOfKeys === undefined ? { lua } : { numberOfKeys, lua });
    const bound = (client as unknown as Record<string, Script>)[command]!;
    scripts[name] = (...keysAndArguments) => bound.call(client, ...keysAndArguments);
  }
  return scripts;
}
