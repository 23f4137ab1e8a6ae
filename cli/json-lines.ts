import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** An object of a few dozen numbers is a few hundred bytes. */
const LINE_BYTES_MAX = 65_536;
const LINE_FEED = 0x0a;

/** What is wrong with a line, before anybody looks at what it says. */
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
    // Whoever reads the output (`| head`) has seen enough.
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
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(line);
  } catch {
    return { problem: 'line_not_utf8' };
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { problem: 'line_not_json' };
  }
}
