import { invalidParam } from '#shared/kernel/errors.ts';

/** Some sentences; more belongs elsewhere, with a link. */
export const REGION_NOTE_LENGTH_MAX = 500;

/** What everybody is told about a region: some printable characters in one paragraph; null for nothing. Throws `invalid_note`. */
export function checkRegionNote(text: string): string | null {
  const note = text.replaceAll(/\s+/g, ' ').trim();
  if (note === '') return null;
  if (note.length > REGION_NOTE_LENGTH_MAX || /\p{Cc}/u.test(note)) {
    throw invalidParam(
      'note',
      `A note has at most ${REGION_NOTE_LENGTH_MAX} printable characters.`,
    );
  }
  return note;
}
