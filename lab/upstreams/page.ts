import type { Found } from './checks.ts';
import type { ServerReport } from './through-docket.ts';

const INTRODUCTION = `# Real model servers

This page says which model servers work behind Docket, with their lines of the [catalogue](catalogue.md) and what to know about each. \`npm run upstreams -- --write\` writes this page. It starts each server with a tiny model of random weights, and the product as \`npm start\` does. Through that it asks what clients ask, leaves, kills the server and starts it again. It compares every answer with its receipt and, if the server logs token counts, with its log. \`npm test\` holds the recorded answers of each server.

- **works**: as asked.
- **refused**: the server does not do it, and the caller or the receipt is told so.
- **broken**: something was said that is not so.
`;

/**
 * The page with what was found, server by server. Of a server that was not asked now the section stays as it was on the page
 * before.
 */
export function pageOf(
  reports: readonly ServerReport[],
  before: string,
  titles: readonly string[],
): string {
  const kept = new Map(
    before.split(/^(?=## )/m).map((section) => [section.split('\n')[0]!.slice(3), section]),
  );
  for (const report of reports) kept.set(report.kind.title, sectionOf(report));
  const sections = titles.flatMap((title) => kept.get(title)?.trimEnd() ?? []);
  return `${[INTRODUCTION.trimEnd(), ...sections].join('\n\n')}\n`;
}

function sectionOf({ kind, yaml, found }: ServerReport): string {
  return `## ${kind.title}

\`${kind.packages[0]}\` from pip.

\`\`\`yaml
${yaml}
\`\`\`

${kind.notes.map((note) => `- ${note}`).join('\n')}

| asked | found | |
| --- | --- | --- |
${Object.entries(found).map(rowOf).join('\n')}
`;
}

function rowOf([name, { verdict, words }]: [string, Found]): string {
  return `| ${name} | ${verdict} | ${words.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').replaceAll(/[<>]/g, '')} |`;
}
