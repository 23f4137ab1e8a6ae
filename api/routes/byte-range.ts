import type { ByteRange } from '#shared/packs/export-store.ts';

/** What a Range header asks for: everything, one range, or nothing that is there. */
export type RangeAnswer = 'whole' | 'unsatisfiable' | ByteRange;

/** More digits than any size has: what is larger is no range of ours. */
const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Reads a Range header (RFC 9110, 14) for a file of `size` bytes. One range is answered; several, other units and what
 * cannot be read are ignored, as a server may: then the whole file is sent. Clients that resume ask for one.
 * @param ifRange the If-Range header: the range counts only for the file that the client has the beginning of
 */
export function byteRange(
  header: string | undefined,
  size: number,
  { ifRange, etag }: { ifRange: string | undefined; etag: string },
): RangeAnswer {
  if (header === undefined) return 'whole';
  if (ifRange !== undefined && ifRange.trim() !== etag) return 'whole';
  const match = RANGE.exec(header.trim().toLowerCase().replaceAll(/\s+/g, ''));
  if (match === null) return 'whole';
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return 'whole';
  // bytes=-500: the last 500.
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  // The end before the beginning is no range at all, and is ignored like one that cannot be read.
  if (last !== '' && Number(last) < start) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end };
}
