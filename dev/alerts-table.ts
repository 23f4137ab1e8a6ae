import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A rule of Prometheus as the file has it: a recorded series, or an alert. */
export interface Rule {
  expr: string;
  record?: string;
  alert?: string;
  for?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

const PAGE = 'docs/operations.md';

/** The rules of ops/prometheus/alerts.yml, in their order. */
export function readAlertRules(): Rule[] {
  const path = new URL('../ops/prometheus/alerts.yml', import.meta.url);
  const { groups } = parse(readFileSync(path, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** One row for each alert: its name, severity, condition, meaning, and the heading of the page that says what to do. */
export function alertRows(): string[][] {
  return readAlertRules().flatMap(({ alert, expr, for: lasting, labels, annotations = {} }) => {
    if (alert === undefined) return [];
    const heading = annotations['runbook']?.replace(PAGE, '') ?? '';
    return [
      [
        `\`${alert}\``,
        labels?.['severity'] ?? '',
        `\`${expr}\`${lasting === undefined ? '' : ` for ${lasting}`}`,
        annotations['summary'] ?? '',
        `[${wordsOf(heading)}](${heading})`,
      ],
    ];
  });
}

/** What stands in a link to a heading: the words of its anchor. */
function wordsOf(anchor: string): string {
  return anchor.replace('#', '').replaceAll('-', ' ');
}
