/**
 * A regular expression keeps a place on its stack for each character of a long match, and other work waits for it: this
 * many take it some milliseconds.
 */
const WINDOW_CHARS = 1_048_576;
/**
 * What lies behind a window may change these last matches in it: a run of one kind of character that goes on makes the
 * last one longer, and white space that goes on to a line's end swallows the one before; an apostrophe may join it.
 */
const OPEN_MATCHES = 2;

/**
 * The words into which a vocabulary's regular expression splits a text, the same as if it saw the text in one piece. The
 * text is read no further than to a word that fills a window: no writing has one.
 */
export function* wordsOf(
  text: string,
  split: RegExp,
  windowChars = WINDOW_CHARS,
): Generator<string> {
  for (let start = 0; start < text.length;) {
    const window = text.slice(start, start + windowChars);
    if (start + window.length === text.length) {
      for (const [word] of window.matchAll(split)) yield word;
      return;
    }
    const begun = start;
    const open: string[] = [];
    for (const [word] of window.matchAll(split)) {
      open.push(word);
      if (open.length <= OPEN_MATCHES) continue;
      const whole = open.shift()!;
      start += whole.length;
      yield whole;
    }
    if (start === begun) return;
  }
}
