import { describe, expect, it } from 'vitest';
import { namesText, textsOfData } from '#shared/screening/data-texts.ts';

const WORDS = 'how to bake a cake';
const BASE64 = Buffer.from(WORDS).toString('base64');
/** Not UTF-8, as the bytes of pictures and archives are. */
const BYTES = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 0xfe]).toString('base64');

describe('a file of a part', { tags: ['operations.screening'] }, () => {
  it.each([
    `data:text/plain;base64,${BASE64}`,
    `data: text/x-anything ; charset=utf-8; base64 ,${BASE64}`,
    `data:application/json;base64,${BASE64}`,
    `data:application/x-python;base64,${BASE64}`,
    `data:application/octet-stream;base64,${BASE64}`,
    `data:image/svg+xml;base64,${BASE64}`,
    `data:;base64,${BASE64}`,
    `data:text/plain;base64,A;base64,${BASE64}`,
    `data:text/plain;base64,QQ==${BASE64}`,
    `data:text/plain,${WORDS}`,
    `data:text/plain,${encodeURIComponent(WORDS)}`,
    `data:image/png,${WORDS}`,
    `data:text/plain;base64,${WORDS}!`,
    `data:;base64;x,${WORDS}`,
    `data:text/plain;base64;charset=utf-8,${BASE64}`,
    `data:image/png;base64,${BASE64}`,
    `data:application/octet-stream;base64,${BASE64.replace(/=*$/, '')}====////`,
    `${BASE64.replace(/=*$/, '')}==AAAA`,
    `data:text/plain,${BASE64}`,
    `data:text/plain,%zz%ff${encodeURIComponent(WORDS)}%`,
    `data:text/plain;base64,${Buffer.from(`${WORDS} — é`.repeat(500)).toString('base64')}`,
    BASE64,
    `note: ${WORDS}`,
    `x://${WORDS}`,
  ])('that is %j is read', (data) => {
    expect(textsOfData(data).join('\n')).toContain(WORDS);
  });

  it('that names a text is read also where not all of it is one', () => {
    const mixed = Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(WORDS)]).toString('base64');
    expect(textsOfData(`data:application/xml;base64,${mixed}`).join()).toContain(WORDS);
  });

  it.each([
    `data:image/png;base64,${BYTES}`,
    `data:audio/wav;base64,${BYTES}`,
    `data:application/pdf;base64,${BYTES}`,
    `data:application/zip;base64,${BYTES}`,
    'https://files.example/how%20to%20bake%20a%20cake',
    BYTES,
  ])('that is %j has no words', (data) => {
    expect(textsOfData(data)).toEqual([]);
  });

  it('that is said to be a text by what stands beside it is read also where not all of it is one', () => {
    const mixed = Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(WORDS)]).toString('base64');
    expect(textsOfData(`data:image/png;base64,${mixed}`)).toEqual([]);
    expect(namesText('text/plain')).toBe(true);
    expect(namesText('high')).toBe(false);
    expect(textsOfData(`data:image/png;base64,${mixed}`, true).join()).toContain(WORDS);
  });

  it('is read in few ways, each in one pass, however often it says that it ends', () => {
    for (const data of ['A='.repeat(500_000), `data:;base64,${'base64,A='.repeat(100_000)}`]) {
      const read = textsOfData(data);
      expect(read.length).toBeLessThanOrEqual(5);
      const chars = read.reduce((sum, { length }) => sum + length, 0);
      expect(chars).toBeLessThanOrEqual(4 * data.length);
    }
  });
});
