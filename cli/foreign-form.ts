/** Forms of files that hold a text differently, by how they begin, and what is to be done about each. */
const FORMS: readonly { begins: readonly number[]; words: string }[] = [
  { begins: [0xff, 0xfe], words: 'is UTF-16, as PowerShell writes it; save it as UTF-8' },
  { begins: [0xfe, 0xff], words: 'is UTF-16; save it as UTF-8' },
  // Without a mark: a brace and its other byte.
  { begins: [0x7b, 0x00], words: 'is UTF-16; save it as UTF-8' },
  { begins: [0x00, 0x7b], words: 'is UTF-16; save it as UTF-8' },
  { begins: [0x1f, 0x8b], words: 'is compressed with gzip; unpack it first' },
  { begins: [0x25, 0x50, 0x44, 0x46], words: 'is a PDF; what can be checked is the JSON itself' },
];

/** What is to be said of a file that holds a text, or may have come from one, in a form that is not judged; else undefined. */
export function foreignForm(bytes: Uint8Array): string | undefined {
  return FORMS.find(({ begins }) => begins.every((byte, at) => bytes[at] === byte))?.words;
}
