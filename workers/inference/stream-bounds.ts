import { KeptByStreams } from './kept-by-streams.ts';
import { OnTheWay, type SharedByStreams } from './stream-pace.ts';
import { type Clock, StreamTurns } from './stream-turns.ts';

/** What was generated is kept for counting: thirty million tokens, of all streams of a worker. */
const TEXT_CHARS_MAX = 128 * 1024 * 1024;
/** What is kept for requests with an Idempotency-Key that come again: a thousand streams of a thousand tokens. */
const FRAME_CHARS_MAX = 256 * 1024 * 1024;

/** What the streams of one worker may have in memory together, and read in one turn. */
export interface StreamBounds extends SharedByStreams {
  texts: KeptByStreams;
  frames: KeptByStreams;
}

/** `whenRoom` resolves when what streams have read may be followed by more. */
export function openStreamBounds(whenRoom: () => Promise<void>, clock?: Clock): StreamBounds {
  return {
    onTheWay: new OnTheWay(),
    turns: new StreamTurns(whenRoom, clock),
    texts: new KeptByStreams(TEXT_CHARS_MAX),
    frames: new KeptByStreams(FRAME_CHARS_MAX),
  };
}
