import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROLES, SETTINGS } from '#shared/config/settings.ts';
import { breachesIn, type Manifest } from '#lab/kubernetes/policies.ts';
import { ROOT } from '#test/architecture/source-files.ts';

const CHART = join(ROOT, 'ops/helm');
const textOf = (name: string): string => readFileSync(join(CHART, name), 'utf8');
const templates = readdirSync(join(CHART, 'templates'))
  .map((name) => textOf(join('templates', name)))
  .join('\n');
const values = parse(textOf('values.yaml')) as { processes: object };
const schema = JSON.parse(textOf('values.schema.json')) as {
  definitions: { role: { enum: string[] } };
  properties: { processes: { required: string[]; properties: object } };
};

describe('the chart', () => {
  it('has every process of the product, and no other', () => {
    const roles = [...ROLES].toSorted();
    const [, table] = /define "docket\.processes" -}}\n([^]*?)\{\{- end/.exec(templates)!;
    expect(Object.keys(parse(table!) as object).toSorted()).toEqual(roles);
    expect(Object.keys(values.processes).toSorted()).toEqual(roles);
    const { role } = schema.definitions;
    const { required, properties } = schema.properties.processes;
    for (const named of [role.enum, required, Object.keys(properties)]) {
      expect(named.toSorted()).toEqual(roles);
    }
  });

  it('names settings that there are', () => {
    const known = new Set(Object.values(SETTINGS).map(({ name }) => name));
    const named = [...templates.matchAll(/\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b/g)].map(([, name]) =>
      name!.replace(/_FILE$/, ''),
    );
    expect(named.length).toBeGreaterThan(10);
    expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
  });

  it('has the version of the product', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      version: string;
    };
    const chart = parse(textOf('Chart.yaml')) as { version: string; appVersion: string };
    expect([chart.version, chart.appVersion]).toEqual([version, version]);
  });
});

const labels = { 'app.kubernetes.io/component': 'api' };
const POLICY: Manifest = {
  kind: 'NetworkPolicy',
  metadata: { name: 'api' },
  spec: { podSelector: { matchLabels: labels } },
};
const CONFINED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};
const CONTAINER = {
  name: 'api',
  env: [{ name: 'SESSION_SECRET_FILE', value: '/secrets/session/secret' }],
  resources: { limits: { memory: '1Gi' }, requests: { memory: '256Mi' } },
  securityContext: CONFINED,
  startupProbe: {},
  readinessProbe: {},
  livenessProbe: {},
};
const POD = {
  automountServiceAccountToken: false,
  terminationGracePeriodSeconds: 30,
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  volumes: [{ name: 'redis', secret: { defaultMode: 0o440 } }],
};
const deployment = (pod: object, container: object): Manifest => ({
  kind: 'Deployment',
  metadata: { name: 'api' },
  spec: {
    template: {
      metadata: { labels },
      spec: { ...POD, ...pod, containers: [{ ...CONTAINER, ...container }] },
    },
  },
});

describe('what no pod of the chart may do', () => {
  it('is not found where it is not', () => {
    expect(breachesIn([POLICY, deployment({}, {})])).toEqual([]);
  });

  it.each<[string, object, object]>([
    ['it may run as root', { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }, {}],
    ['its system calls are not filtered', { securityContext: { runAsNonRoot: true } }, {}],
    ['it gets a token of the cluster', { automountServiceAccountToken: true }, {}],
    ['it sees files of the machine', { volumes: [{ name: 'etc', hostPath: {} }] }, {}],
    ['others than its group may read a secret', { volumes: [{ name: 'redis', secret: {} }] }, {}],
    ['it is killed before it has ended its work', { terminationGracePeriodSeconds: 5 }, {}],
    [
      'it may gain rights',
      {},
      { securityContext: { ...CONFINED, allowPrivilegeEscalation: true } },
    ],
    [
      'it may write to its own files',
      {},
      { securityContext: { ...CONFINED, readOnlyRootFilesystem: false } },
    ],
    [
      'it has capabilities',
      {},
      { securityContext: { ...CONFINED, capabilities: { add: ['NET_RAW'] } } },
    ],
    ['its memory has no bound', {}, { resources: { requests: { memory: '256Mi' } } }],
    ['nothing is set aside for it', {}, { resources: { limits: { memory: '1Gi' } } }],
    ['a secret is in its environment', {}, { env: [{ name: 'REDIS_URL', value: 'redis://x' }] }],
    ['a probe is missing', {}, { livenessProbe: undefined }],
  ])('is found: %s', (breach, pod, container) => {
    expect(breachesIn([POLICY, deployment(pod, container)])).toEqual([`Deployment api: ${breach}`]);
  });

  it('is found in what runs beside a process', () => {
    const agent = { ...CONTAINER, securityContext: {} };
    const found = breachesIn([POLICY, deployment({ initContainers: [agent] }, {})]);
    expect(found).toContain('Deployment api: it may gain rights');
  });

  it('is found: no network policy', () => {
    const found = breachesIn([deployment({}, {})]);
    expect(found).toEqual(['Deployment api: no network policy is of it']);
  });
});
