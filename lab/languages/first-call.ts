import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(import.meta.dirname, '../../docs/first-call.md');

/** The languages of the page, as its headings call them. */
export type FirstCallLanguage = 'curl' | 'Python' | 'JavaScript' | 'Go';

/** The program that docs/first-call.md shows for a language, as it is read there. */
export function firstCall(language: FirstCallLanguage): string {
  const page = readFileSync(PAGE, 'utf8');
  const [, section] = page.split(`\n### ${language}\n`);
  const [, program] = /^```\w+\n([^]*?)^```$/m.exec(section ?? '') ?? [];
  if (program === undefined) throw new Error(`docs/first-call.md has no program for ${language}`);
  return program;
}
