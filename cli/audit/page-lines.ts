import { CannotJudge } from '#cli/verify/cannot-judge.ts';

/** As many entries as a fetched log may have, one a page. */
const PAGES_MAX = 1_000_000;

/**
 * Lines that hold something, each a page of an audit log if the text is one: one after the other, because a file may have as
 * many as it has characters, and another file ends at its first.
 * @throws CannotJudge when there are too many
 */
export function* pageLines(text: string, pagesMax = PAGES_MAX): Generator<string> {
  let pages = 0;
  for (let at = 0; at < text.length;) {
    const feed = text.indexOf('\n', at);
    const end = feed === -1 ? text.length : feed;
    const line = text.slice(at, end);
    at = end + 1;
    if (line.trim() === '') continue;
    pages += 1;
    if (pages > pagesMax) {
      throw new CannotJudge(`The file has more than ${pagesMax} pages: too many to be judged.`);
    }
    yield line;
  }
}
