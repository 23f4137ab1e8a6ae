/**
 * docs/conformance.md: each rule of the specification and of the contract, and the tests that prove it.
 * `node dev/conformance.ts` writes the page; a test fails while it is stale, a rule has no test, or a test is gone.
 */
import { writeFileSync } from 'node:fs';
import { EVIDENCE_SECTION } from '#dev/conformance/evidence.ts';
import { CODES_SECTION, ERRORS_SECTION } from '#dev/conformance/errors.ts';
import {
  IDEMPOTENCY_SECTION,
  OPERATIONS_SECTION,
  RECEIPTS_SECTION,
  REQUESTS_SECTION,
} from '#dev/conformance/inference.ts';
import { AUTHENTICATION_SECTION, KEYS_SECTION, SCOPES_SECTION } from '#dev/conformance/keys.ts';
import { CLIENTS_SECTION, LIMITS_SECTION } from '#dev/conformance/limits.ts';
import type { Proof, Section } from '#dev/conformance/section.ts';

export const CONFORMANCE_PAGE = new URL('../docs/conformance.md', import.meta.url);

export const SECTIONS: readonly Section[] = [
  OPERATIONS_SECTION,
  RECEIPTS_SECTION,
  EVIDENCE_SECTION,
  IDEMPOTENCY_SECTION,
  REQUESTS_SECTION,
  ERRORS_SECTION,
  CODES_SECTION,
  LIMITS_SECTION,
  SCOPES_SECTION,
  KEYS_SECTION,
  AUTHENTICATION_SECTION,
  CLIENTS_SECTION,
];

/** The page, in Markdown. */
export function conformancePage(): string {
  const rules = SECTIONS.reduce((sum, { rows }) => sum + rows.length, 0);
  return `# Conformance

What the service promises, rule by rule, and the tests that prove it. All of them run in \`npm test\`, most of them against the whole product: its processes on real PostgreSQL and Redis, called by stock clients. ${rules} rules; none is without a test.

${SECTIONS.map(({ title }) => `- [${title}](#${title.toLowerCase().replaceAll(' ', '-')})`).join('\n')}

${SECTIONS.map(sectionText).join('\n\n')}

<!-- Written by dev/conformance.ts. -->
`;
}

function sectionText({ title, about, rows }: Section): string {
  const lines = rows.map(({ rule, proof }) => `| ${rule} | ${proofText(proof)} |`);
  return `## ${title}\n\n${about}\n\n| what holds | proven by |\n| --- | --- |\n${lines.join('\n')}`;
}

function proofText(proof: Proof): string {
  return Object.entries(proof)
    .map(([file, titles]) => {
      const tests = titles.map((title) => `*${readable(title)}*`).join(' · ');
      return `[${file}](../test/${file}.test.ts): ${tests}`;
    })
    .join('<br>');
}

/** Titles of tables of tests have places for what differs. */
function readable(title: string): string {
  return title
    .replaceAll(/\$\{\w+\}|%[a-z]/g, '…')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll('*', '\\*');
}

if (import.meta.main) writeFileSync(CONFORMANCE_PAGE, conformancePage());
