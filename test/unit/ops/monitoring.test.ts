import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readAlertRules } from '#dev/alerts-table.ts';
import { shortenRules } from '#lab/monitoring/shortened.ts';
import { CODES } from '#shared/kernel/error-codes.ts';
import { isScheduled, JOBS, type JobName } from '#shared/jobs/table.ts';
import { createRegistry } from '#shared/process/health-server.ts';
import { anchorsOf, readPage, ROOT } from '#test/docs/pages.ts';
import { namesIn } from './expressions.ts';

const read = (path: string): string => readFileSync(join(ROOT, 'ops', path), 'utf8');

interface Panel {
  type: string;
  title: string;
  datasource?: { uid: string };
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { expr: string; legendFormat: string; datasource?: { uid: string } }[];
}
const dashboard = JSON.parse(read('grafana/docket.json')) as {
  panels: Panel[];
  templating: { list: { name: string; query: string | { query: string } }[] };
};
const tests = (
  parse(read('prometheus/alerts.test.yml')) as {
    tests: { promql_expr_test: { expr: string; exp_samples: { labels: string }[] }[] }[];
  }
).tests.flatMap((one) => one.promql_expr_test);

const rules = readAlertRules();
const alerts = rules.filter((rule) => rule.alert !== undefined);
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const targets = panels.flatMap((panel) =>
  (panel.targets ?? []).map((target) => ({ title: panel.title, ...target })),
);

/** What a scrape adds to every series, and the product to each. */
const ALWAYS = ['job', 'instance', 'role'];
/** Series that Prometheus makes itself. */
const OF_PROMETHEUS: Readonly<Record<string, string[]>> = {
  up: ['job', 'instance'],
  ALERTS: ['alertname', 'alertstate', 'severity'],
};
const known = new Map<string, Set<string>>();
/** Labels of ours that a scrape would give other names, because it sets them itself. */
const renamed: string[] = [];

function add(name: string, kind: string, labels: readonly string[]): void {
  renamed.push(
    ...labels.filter((label) => label === 'job' || label === 'instance').map(() => name),
  );
  const parts = kind === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  for (const part of parts) {
    known.set(
      `${name}${part}`,
      new Set([...ALWAYS, ...labels, ...(part === '_bucket' ? ['le'] : [])]),
    );
  }
}

beforeAll(async () => {
  for (const { name, type, values } of await createRegistry('api').getMetricsAsJSON()) {
    add(name, String(type), Object.keys(values[0]?.labels ?? {}));
  }
  // The table of the page is as the code has it, which another test holds.
  const rows = readPage('docs/operations.md').text.matchAll(
    /^\| `(docket_\w+)` +\| (\w+) +\| ([^|]*)\|/gm,
  );
  for (const [, name = '', kind = '', labels = ''] of rows) {
    add(
      name,
      kind,
      [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label!),
    );
  }
  for (const [name, labels] of Object.entries(OF_PROMETHEUS)) known.set(name, new Set(labels));
  // They are sums and maxima over everything.
  for (const { record } of rules) if (record !== undefined) known.set(record, new Set());
});

/** What an expression names and the product has not. */
function unknownIn(expression: string): string[] {
  const { metrics, grouped } = namesIn(expression);
  const all = new Set(metrics.flatMap(({ name }) => [...(known.get(name) ?? [])]));
  return [
    ...metrics.flatMap(({ name, labels }) => {
      const own = known.get(name);
      if (own === undefined) return [name];
      return labels.filter((label) => !own.has(label)).map((label) => `${name}{${label}}`);
    }),
    ...grouped.filter((label) => !all.has(label)).map((label) => `by (${label})`),
  ];
}

describe('the alerts of ops/prometheus', () => {
  it('every alert has a name of its own', () => {
    expect(alerts.length).toBeGreaterThan(20);
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  });

  it('no metric has a label that a scrape sets, under which no rule would find it', () => {
    expect(renamed).toEqual([]);
  });

  it('every rule names metrics and labels that the product has', () => {
    expect(rules.flatMap(({ expr }) => unknownIn(expr))).toEqual([]);
    expect(rules.every(({ expr }) => namesIn(expr).metrics.length > 0)).toBe(true);
  });

  it('an expression with a metric or a label that the product has not is found', () => {
    expect(unknownIn('sum by (cause) (rate(docket_refusals_total{why=~"a|b"}[5m]))')).toEqual([
      'docket_refusals_total{why}',
      'by (cause)',
    ]);
    expect(unknownIn('max(docket_refusal_total) unless on (job) up{job="docket"}')).toEqual([
      'docket_refusal_total',
    ]);
  });

  it('every alert says how severe it is, what it means, its figure and what to do', () => {
    const anchors = anchorsOf(readPage('docs/operations.md'));
    const wrong = alerts.filter(
      ({ labels, annotations: { summary, description, runbook } = {} }) => {
        const heading = /^docs\/operations\.md#(.+)$/.exec(runbook ?? '')?.[1];
        return (
          !['critical', 'warning'].includes(labels?.['severity'] ?? '') ||
          !summary ||
          !/\{\{ \$(value|labels\.\w+)\b/.test(description ?? '') ||
          heading === undefined ||
          !anchors.has(heading)
        );
      },
    );
    expect(wrong.map(({ alert }) => alert)).toEqual([]);
  });

  it('every alert is tested by a course of things that fires it and one that does not', () => {
    const tested = (fires: boolean): string[] =>
      tests
        .filter(({ exp_samples: samples }) => samples.length > 0 === fires)
        .map(({ expr }) => /alertname="(\w+)"/.exec(expr)?.[1] ?? expr)
        .toSorted();
    const names = alerts.map(({ alert }) => alert!).toSorted();
    expect(tested(true)).toEqual(names);
    expect(tested(false)).toEqual(names);
  });

  it('the tests expect the severity that the rule has', () => {
    const expected = tests.flatMap(({ exp_samples: samples }) =>
      samples.map(({ labels }) =>
        ['alertname', 'severity'].map((name) => new RegExp(`${name}="(\\w+)"`).exec(labels)?.[1]),
      ),
    );
    expect(expected).toEqual(alerts.map(({ alert, labels }) => [alert, labels?.['severity']]));
  });
});

describe('the objectives', () => {
  it('every code of a 5xx is a fault of ours, or is named as one that is not', () => {
    const recorded = rules.filter(({ record }) => /^docket:faults:rate\d/.test(record ?? ''));
    const codes = recorded.map(({ expr }) => /code=~"([^"]+)"/.exec(expr)![1]!.split('|'));
    const notOurs = [
      'upstream_error',
      'upstream_timeout',
      'upstream_rate_limited',
      'region_saturated',
      'region_decommissioned',
    ];
    const all = Object.entries(CODES).filter(([, { status }]) => status >= 500);
    const ours = all.map(([code]) => code).filter((code) => !notOurs.includes(code));
    expect(recorded.length).toBe(4);
    for (const each of codes) expect(each.toSorted()).toEqual(ours.toSorted());
    const { text } = readPage('docs/operations.md');
    const row = text.split('\n').find((line) => line.startsWith('| 99.9 %'));
    expect(ours.filter((code) => !row?.includes(`\`${code}\``))).toEqual([]);
  });

  it('the jobs that alerts tell from those by the clock are those that something asks for', () => {
    const asked = (Object.keys(JOBS) as JobName[]).filter((name) => !isScheduled(name)).toSorted();
    const named = rules.flatMap(({ expr }) => [...expr.matchAll(/kind[=!]~"([^"]+)"/g)]);
    expect(named.length).toBe(2);
    for (const [, list = ''] of named) expect(list.split('|').toSorted()).toEqual(asked);
  });
});

describe('the dashboard of ops/grafana', () => {
  const VARIABLES = /\$__rate_interval|\$\{?\w+\}?/g;

  it('every panel names metrics and labels that the product has', () => {
    expect(targets.length).toBeGreaterThan(40);
    const wrong = targets.flatMap(({ title, expr }) =>
      unknownIn(expr).map((what) => `${title}: ${what}`),
    );
    expect(wrong).toEqual([]);
    const asked = dashboard.templating.list.map(({ query }) => query);
    const labels = asked.flatMap((query) =>
      typeof query === 'string' ? [] : [/^label_values\((\w+), (\w+)\)$/.exec(query.query)!],
    );
    expect(labels.length).toBe(3);
    for (const [, metric = '', label = ''] of labels) {
      expect([...(known.get(metric) ?? [])]).toContain(label);
    }
  });

  it('every panel has a data source, a unit, a title and legends', () => {
    const wrong = panels.filter(
      ({ title, datasource, fieldConfig, targets: own = [] }) =>
        title === '' ||
        datasource?.uid !== '${datasource}' ||
        !fieldConfig?.defaults.unit ||
        own.length === 0 ||
        own.some(
          (target) => target.legendFormat === '' || target.datasource?.uid !== '${datasource}',
        ),
    );
    expect(wrong.map(({ title }) => title)).toEqual([]);
  });

  it('legends and variables are those that there are', () => {
    const variables = new Set(dashboard.templating.list.map(({ name }) => name));
    const wrong = targets.flatMap(({ title, expr, legendFormat }) => [
      ...[...expr.matchAll(VARIABLES)]
        .map(([text]) => text.replaceAll(/[${}]/g, ''))
        .filter((name) => name !== '__rate_interval' && !variables.has(name)),
      // A label that an aggregation has dropped is empty in a legend.
      ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]
        .map(([, label]) => label!)
        .filter((label) => {
          const { metrics, grouped } = namesIn(expr);
          if (/\bby\b/.test(expr)) return !grouped.includes(label);
          return !metrics.some(({ name }) => known.get(name)?.has(label));
        })
        .map((label) => `${title}: {{${label}}}`),
    ]);
    expect(wrong).toEqual([]);
  });
});

describe('rules that a trial shortens', () => {
  it('windows and waits become shorter by the factor, and thresholds stay', () => {
    const rule = { expr: 'rate(a[5m]) > 10 and rate(a[1h]) > 3600', for: '10m', alert: 'A' };
    const { groups } = shortenRules({ groups: [{ rules: [rule, { expr: 'a > 5' }] }] }, 20);
    expect(groups[0]!.rules).toEqual([
      { expr: 'rate(a[15000ms]) > 10 and rate(a[180000ms]) > 3600', for: '30000ms', alert: 'A' },
      { expr: 'a > 5' },
    ]);
  });
});
