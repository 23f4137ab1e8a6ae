import { decodeBytes, encodeBytes, startSha256 } from '#primitives';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { nextTurn } from '#shared/kernel/turns.ts';
import { jsonSize } from './bounds.ts';
import type { ReceiptDocument } from './document.ts';
import {
  DEPTH_MAX,
  respell,
  RESPELLED_CHARS_MAX,
  SLICE_CHARS,
  slicesOf,
  SPELLINGS,
  spellingsThatDiffer,
  type Written,
} from './spellings.ts';

const encoder = new TextEncoder();

/** How a content is written whose digest a receipt states, or what was tried. */
export type Fit =
  | {
      fits: true;
      /** Undefined for how it was given. */
      how: string | undefined;
    }
  | { fits: false; tried: string };

/** How far a comparison has come, in characters. */
export type OnProgress = (done: number, total: number) => void;

/** Indentation makes a text so many times as long, and this much more; no text that is sent becomes longer. */
const GROWTH_MAX = 8;
const GROWTH_CHARS = 1_048_576;

/** Ends of the last line: servers that write one are as common as those that do not, and what was pasted has lost it. */
const ENDS = ['', '\n', '\r\n'];

/**
 * How a content is written whose digest a receipt states: it is tried as it is, then with other line breaks, then its JSON
 * as programs write it. Others have their turn meanwhile.
 * @param pieces a request or an answer, or the payloads of a stream in their order
 */
export async function fitOf(
  pieces: readonly string[],
  digest: string,
  { salt }: Pick<ReceiptDocument['credentialSubject'], 'salt'>,
  onProgress: OnProgress = () => {},
): Promise<Fit> {
  // Written in UTF-8, the half of a character would be the sign for what cannot be read, which may have been sent.
  if (!pieces.every((text) => text.isWellFormed())) {
    return { fits: false, tried: 'nothing, because it holds half of a character' };
  }
  const salted = decodeBytes(salt.slice(1), 'base64url');
  const ends = pieces.length === 1 ? ENDS : [''];
  const isIt = (content: Content): boolean =>
    ends.some((end) => content.digestWith(end) === digest);

  const forms = formsOf(pieces);
  const chars = pieces.reduce((sum, { length }) => sum + length, 0);
  const isRespelled = chars <= RESPELLED_CHARS_MAX;
  const texts = isRespelled ? forms.at(-1)!.texts() : [];
  const spellings = isRespelled ? spellingsThatDiffer(texts) : [];
  const total = chars * (forms.length + spellings.length);
  let done = 0;
  const step = async (further: number): Promise<void> => {
    done += further;
    onProgress(Math.min(done, total), total);
    // What is short is compared at once.
    if (further >= SLICE_CHARS) await nextTurn();
  };

  for (const { how, texts: made } of forms) {
    const content = new Content(salted);
    for (const text of made()) {
      for (const slice of slicesOf(text)) {
        content.write(slice);
        await step(slice.length);
      }
    }
    if (isIt(content)) return { fits: true, how };
  }
  const tried = forms.map(({ how }) => how ?? 'as it is');
  if (ends.length > 1) tried.push('with and without the end of its last line');

  if (!isRespelled) {
    const why = `its JSON was not written again, because it is longer than ${RESPELLED_CHARS_MAX / 1_048_576} Mi characters`;
    return { fits: false, tried: `${tried.join(', ')}; ${why}` };
  }
  if (texts.some((text) => jsonSize(text).depth > DEPTH_MAX)) {
    const why = `its JSON was not written again, because it is nested deeper than ${DEPTH_MAX} levels`;
    return { fits: false, tried: `${tried.join(', ')}; ${why}` };
  }
  if (!texts.every(isJson)) return { fits: false, tried: `${tried.join(', ')}; it is no JSON` };
  const charsMax = GROWTH_MAX * chars + GROWTH_CHARS;
  const written = spellings.map((spelling) => {
    return { spelling, content: new Content(salted, charsMax) };
  });
  const all = written.map(({ spelling, content }): Written => {
    return { spelling, write: (text) => content.write(text) };
  });
  for (const text of texts) {
    for (const read of respell(text, all)) await step(read * spellings.length);
  }
  const found = written.find(({ content }) => content.isWhole && isIt(content));
  if (found !== undefined) return { fits: true, how: `its JSON ${found.spelling.name}` };
  const tooLong = new Set(
    written.filter(({ content }) => !content.isWhole).map(({ spelling }) => spelling.indent),
  );
  return { fits: false, tried: `${tried.join(', ')}; its JSON ${namesBut(tooLong)}` };
}

/** The spellings that were tried to their end, those of some indentation apart. */
function namesBut(tooLong: ReadonlySet<number>): string {
  const plain = SPELLINGS.filter((each) => each.escapes === undefined && !tooLong.has(each.indent));
  return `${plain.map(({ name }) => name).join(', ')}, each also in ASCII, and compact as Go writes it`;
}

interface Form {
  how: string | undefined;
  /** Made when it is their turn: of a long text there is one form at a time in memory. */
  texts: () => string[];
}

/** A text as it was given, and by other line breaks; the last form has none, and no byte order mark. */
function formsOf(pieces: readonly string[]): Form[] {
  // Some editors put a byte order mark first, which is no part of what they were given.
  const [first = '', ...others] = pieces;
  const bare = [first.replace(/^\uFEFF/, ''), ...others];
  const given: Form[] = [{ how: undefined, texts: () => bodyOf(pieces) }];
  if (bare[0] !== first) given.push({ how: undefined, texts: () => bodyOf(bare) });
  if (!bare.some((text) => /[\r\n]/.test(text))) return given;
  const broken = (lineBreak: string) => (): string[] =>
    bodyOf(bare.map((text) => withBreaks(text, lineBreak)));
  return [
    ...given,
    { how: 'with LF between its lines', texts: broken('\n') },
    { how: 'with CRLF between its lines', texts: broken('\r\n') },
    { how: 'without line breaks, as curl -d sends a file', texts: broken('') },
  ];
}

/** A text with these for line breaks. Slice by slice: V8 notes every place before it replaces one, and a text may be all breaks. */
export function withBreaks(text: string, lineBreak: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = at + SLICE_CHARS;
    if (text[end - 1] === '\r' && text[end] === '\n') end += 1;
    parts.push(text.slice(at, end).replaceAll(/\r\n?|\n/g, lineBreak));
    at = end;
  }
  return parts.join('');
}

/** One text without the end of its last line, which is tried by itself. */
function bodyOf(pieces: readonly string[]): string[] {
  return pieces.length === 1 ? [pieces[0]!.replace(/\r?\n$/, '')] : [...pieces];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A content on its way into its digest, with the salt before it. */
class Content {
  /** It has become no longer than it may. */
  isWhole = true;
  readonly #running = startSha256();
  #pending = '';
  #left: number;

  constructor(salt: Uint8Array, charsMax = Infinity) {
    this.#running.update(salt);
    this.#left = charsMax;
  }

  write(text: string): void {
    this.#left -= text.length;
    if (this.#left < 0) this.isWhole = false;
    if (!this.isWhole) return;
    this.#pending += text;
    if (this.#pending.length >= SLICE_CHARS) this.#digest();
  }

  /** The digest of all that was written, with this end. */
  digestWith(end: string): string {
    const last = this.#running.digestWith(encoder.encode(this.#pending + end));
    return multihashOf(encodeBytes(last, 'base64url'));
  }

  #digest(): void {
    // The halves of a character beyond 16 bits are one in UTF-8.
    const end = this.#pending.length - (/[\uD800-\uDBFF]$/.test(this.#pending) ? 1 : 0);
    this.#running.update(encoder.encode(this.#pending.slice(0, end)));
    this.#pending = this.#pending.slice(end);
  }
}
