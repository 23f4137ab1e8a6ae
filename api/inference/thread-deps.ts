import { randomBytesFromPool } from '#shared/kernel/system/new-id.ts';
import { readPack } from '#shared/screening/files/load.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { compilePack } from '#shared/screening/screen.ts';
import type { ReadDeps } from './read.ts';
import type { ReadPromptDeps } from './read-prompt.ts';
import type { ThreadTerms } from './thread-messages.ts';

/** What a thread reads bodies with. */
export function threadDeps({ processId, shards }: ThreadTerms): ReadDeps & ReadPromptDeps {
  return {
    processId,
    shards,
    newSalt: () => Buffer.from(randomBytesFromPool(16)).toString('base64url'),
    // The process has proved it by its examples.
    screen: compilePack(readPack()),
    tokens: createTokenCounter(),
  };
}
