import { createReadStream, statSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { utf8 } from './utf8.ts';

/** A saved answer holds its receipt: large answers (embeddings, images) are tens of megabytes. */
const ANSWER_BYTES_MAX = 256 * 1_048_576;

/**
 * A receipt, or an answer that holds one, as it was saved; standard input for `-`.
 * @throws Error when it is missing, or too large for an answer
 */
export function readAnswer(path: string): Promise<Buffer> {
  return readInput(path, ANSWER_BYTES_MAX);
}

/**
 * The bytes of a file, or of standard input for `-`.
 * @throws Error when it is missing, no file, or larger than `bytesMax`
 */
export async function readInput(path: string, bytesMax: number): Promise<Buffer> {
  const isInput = path === '-';
  if (!isInput) demandFile(path);
  const source: AsyncIterable<Buffer> = isInput ? process.stdin : createReadStream(path);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > bytesMax) {
      throw new Error(`${isInput ? 'Standard input' : path} is larger than ${bytesMax} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** @throws Error when it is missing, or no file: a device has no end */
export function demandFile(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`There is no file ${path}.`);
  if (!stat.isFile()) throw new Error(`${path} is not a file.`);
}

/** An object of a few dozen numbers is a few hundred bytes. */
const LINE_BYTES_MAX = 65_536;
const LINE_FEED = 0x0a;

/** Reasons for which a line cannot be read. */
export type LineProblem = 'line_too_long' | 'line_not_utf8' | 'line_not_json';

/**
 * Answers each line of `input` with one line on `output`, in order and in constant memory: a slow reader
 * slows the input down. `answer` gets the parsed line, or what kept it from being one, and must not throw.
 */
export async function answerLines(
  input: Readable,
  output: Writable,
  answer: (line: { value: unknown } | { problem: LineProblem }) => object,
): Promise<void> {
  try {
    await pipeline(
      input,
      async function* answers(source: AsyncIterable<Uint8Array>) {
        for await (const line of linesOf(source)) {
          yield `${JSON.stringify(answer(line === undefined ? { problem: 'line_too_long' } : parse(line)))}\n`;
        }
      },
      output,
      { end: false },
    );
  } catch (error) {
    // The reader of the output (`| head`) has seen enough.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

/** Lines without their line feed; undefined stands for one that is too long, whose bytes are dropped. */
async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer | undefined> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const finish = (): Buffer | undefined => {
    const line = length > LINE_BYTES_MAX ? undefined : Buffer.concat(parts);
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of source) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      length += end - start;
      if (length <= LINE_BYTES_MAX) parts.push(chunk.subarray(start, end));
      yield finish();
      start = end + 1;
    }
    length += chunk.length - start;
    if (length <= LINE_BYTES_MAX) parts.push(chunk.subarray(start));
    else parts = [];
  }
  if (length > 0) yield finish();
}

function parse(line: Buffer): { value: unknown } | { problem: LineProblem } {
  try {
    return { value: JSON.parse(utf8(line)) };
  } catch (error) {
    return { problem: error instanceof MalformedData ? 'line_not_utf8' : 'line_not_json' };
  }
}
