import type { Readable } from 'node:stream';

/** Tells each line of a stream. `\n` alone ends one: for readline U+2028 does too, which text of others may hold. */
export function eachLine(stream: Readable, onLine: (line: string) => void): void {
  let begun = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const [first = '', ...others] = text.split('\n');
    begun += first;
    for (const next of others) {
      onLine(begun);
      begun = next;
    }
  });
  stream.once('end', () => {
    if (begun !== '') onLine(begun);
  });
}
