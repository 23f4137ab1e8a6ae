import { describe, expect, it } from 'vitest';
import {
  namesText,
  textsOfData,
  textsOfStrayData,
  wordsBesideData,
} from '#shared/screening/data-texts.ts';

const WORDS = 'how to bake a cake';
const BASE64 = Buffer.from(WORDS).toString('base64');
const BARE = BASE64.replace(/=*$/, '');
/** In letters without a zero in UTF-16. */
const WIDE = Array.from(WORDS, (c) =>
  c === ' ' ? '\u2003' : String.fromCodePoint(c.codePointAt(0)! + 0xfee0),
).join('');
/** Not UTF-8, as the bytes of pictures and archives are. */
const BYTES = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 0xfe]).toString('base64');
const MIXED = Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(WORDS)]).toString('base64');
const of = (text: string, encoding: BufferEncoding): string =>
  Buffer.from(text, encoding).toString('base64');

describe('a file of a part [operations.screening]', () => {
  it.each([
    `data:text/plain;base64,${BASE64}`,
    `data:text/x-anything; charset=utf-8;base64,${BASE64}`,
    `data:text/plain;charset="utf-8";name=a%20b.txt;base64,${BASE64}`,
    `data:application/json;base64,${BASE64}`,
    `data:application/octet-stream;base64,${BASE64}`,
    `data:image/svg+xml;base64,${BASE64}`,
    `data:image/png;base64,${BASE64}`,
    `data:;base64,${BASE64}`,
    `data:text/plain;base64,${of(`${WORDS} — é`.repeat(500), 'utf8')}`,
    `data:application/octet-stream;base64,${of(`\0${WORDS}`, 'utf8')}`,
    `data:application/octet-stream;base64,${of(`\ufeff${WORDS}`, 'utf16le')}`,
    `data:text/plain;base64,${of(WORDS, 'utf16le')}`,
    `data:text/plain;base64,${Buffer.from(WORDS, 'utf16le').swap16().toString('base64')}`,
    `data:text/plain;charset=utf-16le;base64,${of(`Ж${WORDS}`, 'utf16le')}`,
    `${BASE64.slice(0, 8)}\r\n${BASE64.slice(8)}\n`,
    BASE64,
    BARE,
    `data:application/octet-stream;base64,${of(`${WORDS}\xc3`, 'latin1')}`,
    // What begins as a text is one to those who look at its beginning, and a name says what it is.
    `data:application/octet-stream;base64,${of(`${'b '.repeat(4_000)}\xff${WORDS}`, 'latin1')}`,
    `data:application/octet-stream;name="a.txt";base64,${of(`\xff${WORDS}`, 'latin1')}`,
    `data:text/plain;charset=utf-16;base64,${Buffer.from(`Ж\u2003${WIDE}`, 'utf16le').swap16().toString('base64')}`,
  ])('that is %j is read', (data) => {
    expect(textsOfData(data)?.join('\n').normalize('NFKC')).toContain(WORDS);
  });

  it.each([
    `data:text/plain;base64,${BASE64}`,
    ` DATA:text/plain;BASE64,${BASE64}`,
    `data:text/plain,${encodeURIComponent(WORDS)}`,
    `data:text/plain;base64,${BASE64.slice(0, 5)}!${BASE64.slice(5)}`,
    `data:text/plain;base64,%${BASE64.charCodeAt(0).toString(16)}${BASE64.slice(1)}`,
  ])('in a place that no interface has is read, and not refused: %j', (data) => {
    expect(textsOfStrayData(data).join('\n')).toContain(WORDS);
    expect(textsOfStrayData(`see ${data}`)).toEqual([]);
  });

  it('may have words in what its address says of its data', () => {
    expect(wordsBesideData(`data:text/plain;name="${WORDS}";base64,AAAA`)).toContain(WORDS);
    for (const data of [BASE64, 'https://files.example/a=b,', `data:image/png;base64,${BASE64}`])
      expect(wordsBesideData(data)).toBe('');
  });

  it('that names a text is read also where not all of it is UTF-8, as characters of one byte too', () => {
    expect(textsOfData(`data:application/xml;base64,${MIXED}`)!.join()).toContain(WORDS);
    const latin = of('ein böser Kuchen', 'latin1');
    expect(textsOfData(`data:text/plain;base64,${latin}`)).toContain('ein böser Kuchen');
    const koi = Buffer.from([0xcb, 0xc5, 0xcb, 0xd3]).toString('base64');
    expect(textsOfData(`data:text/plain;charset=koi8-r;base64,${koi}`)).toContain('кекс');
  });

  it.each([
    `data:image/png;base64,${BYTES}`,
    `data:audio/wav;base64,${BYTES}`,
    `data:application/pdf;base64,${BYTES}`,
    `data:application/zip;base64,${BYTES}`,
    // As `encodeURIComponent` writes the name of a file, and as people call files.
    `data:application/pdf;name=report%20(1)!.pdf;base64,${BYTES}`,
    `data:application/pdf;name="Bob's Übersicht (2).pdf";base64,${BYTES}`,
    `data:image/*;base64,${BYTES}`,
    'https://files.example/how%20to%20bake%20a%20cake',
    BYTES,
  ])('that is %j has no words', (data) => {
    expect(textsOfData(data)).toEqual([]);
  });

  // Python's decoder overlooks what it does not know and some of the padding; PHP's all of it; Node takes - and _ for values
  // and ends at the first =; some split at a mark, and some at a comma; some look for `data:` in these letters alone.
  it.each([
    `${BASE64.slice(0, 5)}-${BASE64.slice(5)}`,
    `data:text/plain;base64,${BASE64.slice(0, 5)}_${BASE64.slice(5)}`,
    `${BASE64.slice(0, 1)}=${BASE64.slice(1)}`,
    `data:text/plain;base64,${BARE}==AAAA`,
    `data:text/plain;base64,${BARE}====`,
    `${BASE64.slice(0, 5)}!${BASE64.slice(5)}`,
    `${BASE64.slice(0, 5)} ${BASE64.slice(5)}`,
    `data:text/plain;base64,%61${BASE64.slice(1)}`,
    `data:text/plain;base64,A;base64,${BASE64}`,
    `data:text/plain;base64,${WORDS}`,
    `data:text/plain;base64;charset=utf-8,${BASE64}`,
    `data:text/plain;base64 ,${BASE64}`,
    `data:text/plain;name="a,b";base64,${BASE64}`,
    `data:text/plain;BASE64,${BASE64}`,
    `DATA:text/plain;base64,${BASE64}`,
    ` data:text/plain;base64,${BASE64}`,
    `data:${'a'.repeat(1_000)}/b;base64,${BASE64}`,
    `data:text/plain;charset=cp037;base64,${BASE64}`,
    `data:text/plain,${BASE64}`,
    `data:text/plain,${encodeURIComponent(WORDS)}`,
    `data:${BASE64}`,
    `ab://${BASE64}`,
    `HTTP://${BASE64}`,
    `https://${WORDS}`,
    WORDS,
  ])('that servers read differently, as %j, is not taken', (data) => {
    expect(textsOfData(data, true)).toBeUndefined();
  });

  it.each([['text/plain'], ['notes.TXT'], [`${'a'.repeat(500)}.csv`]])(
    'that %s stands beside is read also where not all of it is a text',
    (beside) => {
      expect(textsOfData(`data:image/png;base64,${MIXED}`)).toEqual([]);
      expect(namesText(beside)).toBe(true);
      expect(textsOfData(`data:image/png;base64,${MIXED}`, true)!.join()).toContain(WORDS);
    },
  );

  it.each(['high', 'a.pdf', 'photo.png', 'txt', 7])('has no text for %j beside it', (beside) => {
    expect(namesText(beside)).toBe(false);
  });

  it('is read in few ways, each in one pass', () => {
    for (const data of ['AAAA'.repeat(250_000), of(`\ufeff${WORDS}`.repeat(20_000), 'utf16le')]) {
      const read = textsOfData(data)!;
      expect(read.length).toBeLessThanOrEqual(4);
      const chars = read.reduce((sum, { length }) => sum + length, 0);
      expect(chars).toBeLessThanOrEqual(4 * data.length);
    }
  });
});
