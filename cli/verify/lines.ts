import { PackProblem } from '#shared/packs/problem.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

const NEWLINE = 0x0a;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The lines of a file, each ended by a newline. @throws PackProblem `malformed_line` */
export function* linesOf(bytes: Uint8Array, path: string): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, at);
    if (end < 0) throw new PackProblem('malformed_line', path, 'The last line has no end.');
    yield bytes.subarray(at, end);
    at = end + 1;
  }
}

/** @throws PackProblem `malformed_line` */
export function textOf(bytes: Uint8Array, path: string): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new PackProblem('malformed_line', path, 'The file is not UTF-8.');
  }
}

/**
 * The lines of a file, one at least, as objects with these members, in the one form that packs are written in.
 * @throws PackProblem `malformed_line`
 */
export function* objectsOf(
  bytes: Uint8Array,
  path: string,
  members: readonly string[],
): Generator<Readonly<Record<string, unknown>>> {
  // What has nothing to say is no file of a pack.
  if (bytes.length === 0) throw new PackProblem('malformed_line', path, 'The file has no line.');
  for (const line of linesOf(bytes, path)) {
    let value: unknown;
    try {
      const text = textOf(line, path);
      value = parseStrictJson(text);
      if (canonicalJson(value) !== text) value = undefined;
    } catch (error) {
      if (!(error instanceof MalformedData)) throw error;
    }
    if (
      typeof value !== 'object' ||
      value === null ||
      Object.keys(value).join() !== members.join()
    ) {
      throw new PackProblem('malformed_line', path, 'A line is not in its form.');
    }
    yield value as Readonly<Record<string, unknown>>;
  }
}

/** A whole number, at least 0, under a name. @throws PackProblem `malformed_line` */
export function numberIn(
  object: Readonly<Record<string, unknown>>,
  name: string,
  path: string,
): number {
  const value = object[name];
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new PackProblem('malformed_line', path, `A line has no ${name}.`);
}
