import type { WireFault } from '#shared/lanes/messages.ts';
import type { ItemsPage } from './kept/conversation.ts';
import type { Before } from './kept/kept-responses.ts';
import type { RawRequest } from './read.ts';
import type { ReadingModel } from './read-prompt.ts';

/** What a thread that reads bodies is started with. */
export interface ThreadTerms {
  processId: string;
  shards: number;
  /** The texts are wanted for a second judgement. */
  isModerated: boolean;
}

export type Question =
  | { ask: 'read'; request: Omit<RawRequest, 'rawBody'> & { rawBody: Uint8Array<ArrayBuffer> } }
  | { ask: 'goOn'; before: Before }
  | { ask: 'readPrompt'; model: ReadingModel; asMessage: boolean }
  | { ask: 'countPrompt'; model: ReadingModel }
  | { ask: 'inputItems'; turns: readonly string[]; page: ItemsPage }
  | { ask: 'forget' };

/** Says of a body what must be known of it, and is never the parsed tree: taking that over takes as long as parsing. */
export type Answer = { value: unknown } | { fault: WireFault } | { error: string };

/** The bytes in memory that is theirs alone, so that it can change hands. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength)
    return new Uint8Array(buffer);
  return new Uint8Array(bytes);
}
