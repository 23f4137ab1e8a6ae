import { KeptByStreams } from './kept-by-streams.ts';
import { OnTheWay } from './stream-pace.ts';

/** What was generated is kept for counting: thirty million tokens, of all streams of a worker. */
const TEXT_CHARS_MAX = 128 * 1024 * 1024;
/** What is kept for requests with an Idempotency-Key that come again: a thousand streams of a thousand tokens. */
const FRAME_CHARS_MAX = 256 * 1024 * 1024;

/** What the streams of one worker may have in memory together. */
export interface StreamBounds {
  onTheWay: OnTheWay;
  texts: KeptByStreams;
  frames: KeptByStreams;
}

export function openStreamBounds(): StreamBounds {
  return {
    onTheWay: new OnTheWay(),
    texts: new KeptByStreams(TEXT_CHARS_MAX),
    frames: new KeptByStreams(FRAME_CHARS_MAX),
  };
}
