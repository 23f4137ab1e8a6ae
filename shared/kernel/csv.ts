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
