/** Ways in which people hide words from a filter, as functions of the plain text. Each keeps it readable for a person. */
export const EVASIONS: Readonly<Record<string, (text: string) => string>> = {
  'upper case': (text) => text.toUpperCase(),
  'mixed case': (text) => each(text, (c, i) => (i % 2 === 0 ? c.toUpperCase() : c.toLowerCase())),
  'zero-width spaces': (text) => Array.from(text).join('\u200b'),
  'soft hyphens and joiners': (text) =>
    each(text, (c, i) => c + ['\u00ad', '\u200d', '\u2060'][i % 3]!),
  'control characters': (text) => Array.from(text).join('\u0000'),
  'tag characters': (text) => Array.from(text).join('\u{e0041}'),
  'full width': (text) => letters(text, (c) => String.fromCodePoint(c.codePointAt(0)! + 0xfee0)),
  'mathematical bold': (text) => letters(text, (c) => shifted(c, 0x1d400, 0x1d41a)),
  'mathematical script': (text) => letters(text, (c) => shifted(c, 0x1d4d0, 0x1d4ea)),
  circled: (text) => letters(text, (c) => shifted(c, 0x24b6, 0x24d0)),
  'squared negative': (text) => letters(text, (c) => shifted(c, 0x1f170, 0x1f170)),
  'combining marks': (text) => letters(text, (c) => `${c}\u0301\u0336`),
  cyrillic: (text) =>
    swap(text, { a: 'а', c: 'с', e: 'е', i: 'і', o: 'о', p: 'р', s: 'ѕ', x: 'х', y: 'у' }),
  greek: (text) =>
    swap(text, { a: 'α', e: 'ε', i: 'ι', k: 'κ', n: 'η', o: 'ο', p: 'ρ', t: 'τ', v: 'ν' }),
  'capital I for l': (text) => text.replaceAll('l', 'I'),
  leet: (text) => swap(text, { a: '4', e: '3', i: '1', o: '0', s: '5', t: '7' }),
  'leet with marks': (text) => swap(text, { a: '@', i: '!', s: '$', e: '3', o: '0' }),
  'letters apart': (text) => words(text, (word) => Array.from(word).join(' '), '   '),
  'letters apart, evenly': (text) => words(text, (word) => Array.from(word).join(' '), ' '),
  'dots between letters': (text) => words(text, (word) => Array.from(word).join('.'), ' '),
  'hyphens between letters': (text) => words(text, (word) => Array.from(word).join('-'), ' '),
  'emoji between letters': (text) => words(text, (word) => Array.from(word).join('🔥'), ' '),
  'marks between words': (text) => text.replaceAll(' ', '_'),
  'line breaks between words': (text) => text.replaceAll(' ', '\r\n\t '),
  'no-break spaces': (text) => text.replaceAll(' ', '\u00a0\u2003'),
};

function each(text: string, change: (character: string, index: number) => string): string {
  return Array.from(text, change).join('');
}

function letters(text: string, change: (letter: string) => string): string {
  return text.replaceAll(/[A-Za-z]/g, change);
}

function shifted(letter: string, upperBase: number, lowerBase: number): string {
  const code = letter.charCodeAt(0);
  return String.fromCodePoint(code < 0x61 ? upperBase + code - 0x41 : lowerBase + code - 0x61);
}

function swap(text: string, table: Readonly<Record<string, string>>): string {
  return letters(text, (letter) => table[letter.toLowerCase()] ?? letter);
}

function words(text: string, change: (word: string) => string, between: string): string {
  return text
    .split(/\s+/)
    .map((word) => change(word.replaceAll(/[^A-Za-z0-9]/g, '')))
    .join(between);
}
