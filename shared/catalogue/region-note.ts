import { invalidParam } from '#shared/kernel/errors.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';

/** Some sentences; more belongs elsewhere, with a link. */
export const REGION_NOTE_LENGTH_MAX = 500;

/** What the public is told about a region: some printable characters in one paragraph; null for nothing. Throws `invalid_note`. */
export function checkRegionNote(text: string): string | null {
  const note = text.replaceAll(/\s+/g, ' ').trim();
  if (note === '') return null;
  if (!isPrintable(note, REGION_NOTE_LENGTH_MAX)) {
    throw invalidParam(
      'note',
      `A note has at most ${REGION_NOTE_LENGTH_MAX} printable characters.`,
    );
  }
  return note;
}
