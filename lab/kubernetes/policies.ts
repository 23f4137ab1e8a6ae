interface Container {
  name: string;
  args?: string[];
  command?: string[];
  env?: { name: string; value?: string }[];
  resources?: { limits?: { memory?: string }; requests?: { memory?: string; cpu?: string } };
  securityContext?: Record<string, unknown>;
  readinessProbe?: unknown;
  livenessProbe?: unknown;
  startupProbe?: unknown;
}

interface PodSpec {
  automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext?: Record<string, unknown>;
  containers: Container[];
  /** With a policy of restarts: those that run beside the others. */
  initContainers?: Container[];
  volumes?: {
    name: string;
    hostPath?: unknown;
    secret?: { defaultMode?: number };
    projected?: { defaultMode?: number };
  }[];
}

/** A document of Kubernetes, as far as it is looked at. */
export interface Manifest {
  kind: string;
  metadata: { name: string };
  spec?: {
    template?: { metadata: { labels: Record<string, string> }; spec: PodSpec };
    podSelector?: { matchLabels: Record<string, string> };
  };
}

/** The mode that the group of a process may read, and nothing else; of root's files processes take no other. */
const OF_THE_GROUP = 0o440;
/** SHUTDOWN_MS, and some seconds. */
const GRACE_S = 30;

/** What a document does that none of this chart may do. */
export function breachesIn(manifests: readonly Manifest[]): string[] {
  const guarded = manifests
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map(({ spec }) => spec?.podSelector?.matchLabels['app.kubernetes.io/component']);
  return manifests.flatMap(({ kind, metadata: { name }, spec }) => {
    const pod = spec?.template;
    if (pod === undefined) return [];
    const component = pod.metadata.labels['app.kubernetes.io/component'];
    return [
      ...breachesOfPod(pod.spec, kind === 'Deployment'),
      ...(guarded.includes(component) ? [] : ['no network policy is of it']),
    ].map((breach) => `${kind} ${name}: ${breach}`);
  });
}

function breachesOfPod(pod: PodSpec, serves: boolean): string[] {
  const { securityContext: user = {}, volumes = [], containers, initContainers = [] } = pod;
  const rules: [string, boolean][] = [
    ['it may run as root', user['runAsNonRoot'] === true && user['runAsUser'] !== 0],
    ['its system calls are not filtered', JSON.stringify(user).includes('RuntimeDefault')],
    ['it gets a token of the cluster', pod.automountServiceAccountToken === false],
    ['it sees files of the machine', volumes.every(({ hostPath }) => hostPath === undefined)],
    [
      'others than its group may read a secret',
      volumes
        .flatMap(({ secret, projected }) => secret ?? projected ?? [])
        .every(({ defaultMode }) => defaultMode === OF_THE_GROUP),
    ],
    [
      'it is killed before it has ended its work',
      !serves || (pod.terminationGracePeriodSeconds ?? 0) >= GRACE_S,
    ],
  ];
  return [
    ...rules.filter(([, holds]) => !holds).map(([breach]) => breach),
    ...containers.flatMap((container) => breachesOfContainer(container, serves)),
    // What a process needs is asked for by its own probes.
    ...initContainers.flatMap((container) => breachesOfContainer(container, false)),
  ];
}

function breachesOfContainer(container: Container, serves: boolean): string[] {
  const { securityContext: own = {}, resources, env = [] } = container;
  const rules: [string, boolean][] = [
    ['it may gain rights', own['allowPrivilegeEscalation'] === false],
    ['it may write to its own files', own['readOnlyRootFilesystem'] === true],
    ['it has capabilities', JSON.stringify(own['capabilities']) === '{"drop":["ALL"]}'],
    ['its memory has no bound', resources?.limits?.memory !== undefined],
    ['nothing is set aside for it', resources?.requests?.memory !== undefined],
    [
      'a secret is in its environment',
      env.every(({ name, value }) => name.endsWith('_FILE') && value?.startsWith('/secrets/')),
    ],
    [
      'a probe is missing',
      !serves ||
        [container.startupProbe, container.readinessProbe, container.livenessProbe].every(Boolean),
    ],
  ];
  return rules.filter(([, holds]) => !holds).map(([breach]) => breach);
}
