import type { Rate } from '#shared/kernel/plan.ts';
import type { MemoryRates } from '#api/plugins/memory-rates.ts';
import { type BodyReader, ReaderHere } from './body-reader.ts';
import type { LargeBodies } from './large-bodies.ts';
import type { ReadDeps } from './read.ts';
import type { ReadPromptDeps } from './read-prompt.ts';

/** Bodies above this are read on a thread. */
const LARGE_BYTES = 64 * 1024;
/** Those up to this are not: to send one there and back takes 40 µs here, which is what it costs to read 4 KiB of plain words. */
const SMALL_BYTES = 4 * 1024;
/**
 * Bytes of those in between that are read here of one organisation; what is beyond goes to a thread and waits for itself.
 * The densest texts cost 0.12 µs a byte to read and to screen, so that none has more than a sixteenth of the event loop, and 31 ms of it at once.
 */
export const READ_HERE: Rate = { requestsPerSecond: 512 * 1024, burst: 256 * 1024 };

export interface ReadingDeps extends ReadDeps, ReadPromptDeps {
  largeBodies: Pick<LargeBodies, 'enter' | 'warmSoon'>;
  /** Bytes of bodies that are read on the event loop, by organisation; and what of them is screened more than once. */
  readHere: Pick<MemoryRates, 'take' | 'spend' | 'waitOf'>;
}

export interface BodyToRead {
  bytes: number;
  orgId: string;
  /** Its tokens are wanted: a byte of a text without spaces takes fifty times as long to count as to read. */
  isCounted?: boolean;
}

/**
 * A reader for a body, to be followed by its `leave`: at once for most, on a thread when it is its turn. A few kilobytes may be
 * screened in thirty ways, in some of which servers put a message together: what that is beyond the body is counted by itself,
 * however small the body is, at the same rate, and behind it all bodies of the organisation are read on threads.
 */
export function enterReader(
  deps: ReadingDeps,
  { bytes, orgId, isCounted = false }: BodyToRead,
): (BodyReader & { leave(): void }) | Promise<BodyReader & { leave(): void }> {
  const again = `again ${orgId}`;
  const isMuch = bytes > SMALL_BYTES && deps.readHere.take(orgId, bytes) > 0;
  const isForThread = isCounted || isMuch || bytes > LARGE_BYTES || deps.readHere.waitOf(again) > 0;
  deps.largeBodies.warmSoon();
  return isForThread
    ? deps.largeBodies.enter(orgId, { bytes, isCounted })
    : new ReaderHere(deps, (chars) => deps.readHere.spend(again, chars));
}
