const NEEDS_QUOTES = /[",\r\n]/;

/** One line of CSV (RFC 4180) with its end. Fields are quoted where they must be. */
export function csvLine(fields: readonly (string | number)[]): string {
  return `${fields
    .map((field) => {
      const text = String(field);
      return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    })
    .join(',')}\r\n`;
}

/** What a spreadsheet would take for a formula, by some locales also in full width. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;

/** A text of others as a field that no spreadsheet computes. */
export function fieldOfOthers(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** The fields of one line that `csvLine` wrote, without its end. */
export function csvFields(line: string): string[] {
  const fields: string[] = [];
  for (const [, quoted, plain = ''] of `,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)) {
    fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
  }
  return fields;
}
