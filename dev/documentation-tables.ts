/**
 * The tables of the documentation that repeat what the code says. `node dev/documentation-tables.ts` writes them anew; a
 * test fails while one of them is stale.
 */
import { HOUR_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TSchema } from 'typebox';
import { type Setting, SETTINGS } from '#shared/config/settings.ts';
import { EXIT_CODES } from '#cli/exit-codes.ts';
import { JOBS, type JobRow } from '#shared/jobs/table.ts';
import { type Act, ACTS, isActOf, ORGANISATION_ROLES } from '#shared/persons/roles.ts';
import { FORMAT_1 as RECEIPT } from '#shared/receipts/format-1.ts';
import { webhookExamples } from './webhook-examples.ts';
import { alertRows } from './alerts-table.ts';
import { comparedModels } from './compared-models.ts';
import { readRules } from './conformance.ts';
import { publishedFigures } from './published-figures.ts';
import { fieldRows } from './receipt-table.ts';
import { longPrompts, PROMPTS } from './long-prompts.ts';
import { messageRows } from './messages-table.ts';
import { recordRows } from './records-table.ts';
import { responseRows } from './responses-table.ts';
import { scalingHead, scalingRows } from './scaling-table.ts';
import {
  characters,
  columns,
  contextRows,
  documentRows,
  formRows,
  patterns,
  reasonRows,
  releaseRows,
  sealRows,
} from './specification-tables.ts';

/** Name of a table, as its marks say it → its text. */
const TABLES: Readonly<Record<string, () => string>> = {
  settings: () => settingsTable(Object.values(SETTINGS).filter(({ secret }) => !secret)),
  secrets: () => settingsTable(Object.values(SETTINGS).filter(({ secret }) => secret)),
  jobs: jobsTable,
  exits: exitsTable,
  survives: survivesTable,
  published: () =>
    table(
      [
        'published figure',
        'its scope',
        'published',
        'docket-1, median (5-95 %)',
        'what ours assumes',
      ],
      publishedFigures(),
    ),
  compared: () => {
    const { head, rows } = comparedModels();
    return table(head, rows);
  },
  long_prompts: () =>
    table(
      ['model', ...PROMPTS.map((tokens) => `${tokens.toLocaleString('en')} tokens in`)],
      longPrompts(),
    ),
  scaling: () => table(scalingHead(), scalingRows()),
  metrics: metricsTable,
  alerts: () => table(['alert', 'severity', 'fires when', 'means', 'see'], alertRows()),
  receipt: () => fieldTable(RECEIPT, ['credentialSubject', 'measurement', 'proof']),
  inference: () => fieldTable(RECEIPT.properties.credentialSubject),
  measurement: () => fieldTable(RECEIPT.properties.measurement),
  proof: () => fieldTable(RECEIPT.properties.proof),
  context: () => table(['format', 'second context'], contextRows()),
  characters,
  documents: () => table(['file', 'SHA-256'], documentRows()),
  releases: () => table(['released', 'digest'], releaseRows()),
  reasons: () => table(['reason', 'vectors'], reasonRows()),
  patterns,
  forms: () => table(['field', 'there', 'form'], formRows()),
  seal: () => table(['field', 'there', 'form', 'meaning'], sealRows()),
  totals_columns: () => columns('totals'),
  receipt_columns: () => columns('receipts'),
  records: () => table(['record', 'member', 'what it says'], recordRows()),
  responses: () =>
    table(['field', 'to a server of responses', 'to a server of chat completions'], responseRows()),
  webhooks: webhookExamples,
  messages: () => table(['field', 'to servers of chats'], messageRows()),
  roles: () =>
    table(
      ['', ...ORGANISATION_ROLES],
      (Object.keys(ACTS) as Act[]).map((act) => [
        ACTS[act].words,
        ...ORGANISATION_ROLES.map((role) => (isActOf(role, act) ? 'yes' : '')),
      ]),
    ),
};

/** The pages that hold such tables, relative to the repository. */
export const PAGES_WITH_TABLES: readonly string[] = [
  'docs/scaling.md',
  'ARCHITECTURE.md',
  'docs/dashboard.md',
  'docs/lanes.md',
  'docs/messages.md',
  'docs/methodology.md',
  'docs/operations.md',
  'docs/receipts.md',
  'docs/responses.md',
  'docs/spec/README.md',
  'docs/spec/pack.md',
  'docs/spec/receipt.md',
  'docs/webhooks.md',
];

/** A page with its tables written anew. Each stands between `<!-- table: name -->` and `<!-- end of table -->`. */
export function withFreshTables(page: string): string {
  return page.replaceAll(
    /(<!-- table: (\w+) -->\n)[^]*?(<!-- end of table -->)/g,
    (_whole, start: string, name: string, end: string) => {
      const make = TABLES[name];
      if (make === undefined) throw new Error(`there is no table ${name}`);
      return `${start}\n${make()}\n\n${end}`;
    },
  );
}

function fieldTable(object: TSchema, apart: readonly string[] = []): string {
  return table(['field', 'there', 'value', 'meaning'], fieldRows(object, apart));
}

function settingsTable(settings: readonly Setting<unknown>[]): string {
  return table(
    ['variable', 'default', 'what it is'],
    settings.map((setting) => [`\`${setting.name}\``, defaultOf(setting), setting.description]),
  );
}

/** A default that is made from other settings is shown with their names in it. */
function defaultOf({ name, fallback }: Setting<unknown>): string {
  // It depends on where the table is made.
  if (name === 'METRICS_HOST') return '`127.0.0.1`; in a container `<HOST>`';
  if (fallback === undefined) return '';
  if (typeof fallback === 'string') return fallback === '' ? '' : `\`${fallback}\``;
  // It looks at the machine, not at another setting.
  if (fallback.length === 0) return 'every address';
  return `\`${fallback((other) => `<${other}>`)}\``;
}

function jobsTable(): string {
  const rows = Object.entries(JOBS as Record<string, JobRow>);
  return table(
    [
      'queue',
      'done by',
      'attempts',
      'first wait',
      'time-out',
      'at once per process',
      'by the clock',
    ],
    rows.map(([name, row]) => [
      `\`${name}\``,
      row.role,
      String(row.attempts),
      row.attempts === 1 ? '' : duration(row.backoffMs),
      duration(row.timeoutMs),
      String(row.concurrency),
      row.everyMs === undefined ? '' : `every ${duration(row.everyMs)}`,
    ]),
  );
}

/** Who ends with them, in words, in the order in which they are told. */
const EXITING: Readonly<Record<keyof typeof EXIT_CODES, string>> = {
  process: 'every process of the Procfile',
  migrations: '`node migrations/main.ts`',
  command: '`docket`, every command that is not below',
  up: '`docket up`, `npm start`',
  verdict:
    '`docket verify`, `docket audit verify-file`, `verify.py`; `docket sample`, `docket reconcile` and `docket statement` of the packs that they read',
  recompute: '`docket recompute`',
  fsck: '`docket ledger fsck` and `docket backup --check`; `resume` and `declare-loss` where they find 2, and `declare-loss` as long as it has 4 to declare',
  doctor: '`docket doctor`',
  catalogue: '`docket catalogue check`',
  policy: '`docket policy test`',
};

function exitsTable(): string {
  const rows = Object.entries(EXIT_CODES).flatMap(([who, codes]) =>
    Object.values(codes).map(({ code, means }, at) => {
      const name = EXITING[who as keyof typeof EXIT_CODES];
      return [at === 0 ? name : '', String(code), means];
    }),
  );
  return table(['ends', 'with', 'when'], rows);
}

function duration(ms: number): string {
  const units: [number, string][] = [
    [HOUR_MS, 'h'],
    [MINUTE_MS, 'min'],
    [1_000, 's'],
  ];
  const [size, unit] = units.find(([each]) => ms % each === 0) ?? [1, 'ms'];
  return `${ms / size} ${unit}`;
}

/** The rules about what survives what, each of which names an event and, after a colon, what holds then. */
function survivesTable(): string {
  const rules = readRules().filter(({ id }) => id.startsWith('survives.'));
  return table(
    ['what happens', 'what holds'],
    rules.map(({ sentence }) => sentence.split(/: (.*)/).slice(0, 2)),
  );
}

/** Where metrics are made, and who makes them there. */
function metricFolders(): [folder: string, process: string][] {
  const roles = readdirSync(fileURLToPath(new URL('../workers/', import.meta.url))).toSorted();
  return [
    ['api', 'api'],
    ['shared/process', 'several'],
    ...roles.map((role): [string, string] => [
      `workers/${role}`,
      role === 'runtime' ? 'several' : role,
    ]),
  ];
}

/** What `metricsOf` is told: name, help, the buckets of a histogram, and labels. */
const METRIC =
  /\b(counter|gauge|histogram|reading)\(\s*'(\w+)',\s*(?:'([^']+)'|"([^"]+)")(?:,\s*(?:[A-Z_]+|\[[\d., _]+\]))?(?:,\s*\[((?:\s*'\w+',?)*)\s*\])?/g;

function metricsTable(): string {
  const rows = new Map<string, { kind: string; help: string; labels: string; by: string[] }>();
  for (const [folder, by] of metricFolders()) {
    for (const text of sourcesIn(folder)) {
      for (const [, kind = '', name = '', plain, quoted, labels = ''] of text.matchAll(METRIC)) {
        const known = rows.get(name);
        if (known !== undefined) known.by.push(by);
        else {
          const shown = [...labels.matchAll(/'(\w+)'/g)]
            .map(([, label]) => `\`${label}\``)
            .join(', ');
          rows.set(name, {
            kind: kind === 'reading' ? 'gauge' : kind,
            help: plain ?? quoted ?? '',
            labels: shown,
            by: [by],
          });
        }
      }
    }
  }
  return table(
    ['metric', 'kind', 'labels', 'process', 'what it says'],
    [...rows].map(([name, { kind, help, labels, by }]) => [
      `\`${name}\``,
      kind,
      labels,
      by.join(', '),
      help,
    ]),
  );
}

function sourcesIn(folder: string): string[] {
  const root = fileURLToPath(new URL(`../${folder}/`, import.meta.url));
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const sources = names.filter((name) => name.endsWith('.ts')).toSorted();
  return sources.map((name) => readFileSync(join(root, name), 'utf8'));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

if (import.meta.main) {
  for (const name of PAGES_WITH_TABLES) {
    const path = new URL(`../${name}`, import.meta.url);
    writeFileSync(path, withFreshTables(readFileSync(path, 'utf8')));
  }
}
