/** Values that an operator has to give. */
const LEAST = {
  publicUrl: 'https://gateway.example',
  supportEmail: 'support@gateway.example',
  exportStore: 's3://packs/docket',
};

/** What the chart is drawn with, by what each is for. */
export const TAKEN: Readonly<Record<string, object>> = {
  'the least': LEAST,
  everything: {
    ...LEAST,
    image: { repository: 'registry.example/docket', tag: '0.1.0', pullSecrets: [{ name: 'pull' }] },
    exportStore: '/data/exports',
    exportVolume: { existingClaim: 'packs' },
    settings: { SHARDS: 4, TSA_URL: 'https://tsa.example', ACCESS_LOG: 'json' },
    catalogue: 'regions: []\n# a catalogue of the operator\n',
    credentials: [
      { name: 'OPENAI_API_KEY', secret: 'upstreams', key: 'openai', processes: ['inference'] },
      { name: 'SMTP_URL', secret: 'mail', key: 'url', processes: ['housekeeping'] },
      {
        name: 'AWS_ACCESS_KEY_ID',
        secret: 's3',
        key: 'id',
        processes: ['api', 'exports', 'purge'],
      },
    ],
    ingress: {
      enabled: true,
      className: 'nginx',
      host: 'gateway.example',
      tlsSecret: 'gateway-tls',
      annotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' },
    },
    networkPolicy: {
      apiFrom: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
      metricsFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
      stores: [
        { to: [{ ipBlock: { cidr: '10.0.0.0/24' } }], ports: [{ port: 5432 }, { port: 6379 }] },
      ],
    },
    admin: {
      enabled: true,
      from: [{ namespaceSelector: { matchLabels: { name: 'crm' } } }],
    },
    signingAgent: {
      image: 'registry.example/openssh:9.2',
      existingSecret: 'docket-signing-agent',
    },
    podMonitor: { enabled: true, labels: { release: 'prometheus' } },
    keda: { enabled: true, prometheusAddress: 'http://prometheus.monitoring:9090' },
    nodeSelector: { pool: 'gateway' },
    tolerations: [{ key: 'gateway', operator: 'Exists' }],
    podAnnotations: { 'example.com/team': 'gateway' },
  },
};

/** What has to be refused before anything is drawn, by what is wrong with it. */
export const REFUSED: Readonly<Record<string, object>> = {
  'no address': { supportEmail: LEAST.supportEmail, exportStore: LEAST.exportStore },
  'an address with a path': { ...LEAST, publicUrl: 'https://gateway.example/v1' },
  'packs where pods cannot write': { ...LEAST, exportStore: '/var/packs' },
  'a secret among the settings': { ...LEAST, settings: { DATABASE_URL: 'postgres://x' } },
  'a setting that has a value of its own': { ...LEAST, settings: { ADMIN_PORT: 9090 } },
  'an admin API on the port of the metrics': { ...LEAST, admin: { enabled: true, port: 9464 } },
  'a number of processes that is a word': { ...LEAST, processes: { api: { replicas: 'two' } } },
  'a credential of a process that there is not': {
    ...LEAST,
    credentials: [{ name: 'SMTP_URL', secret: 'mail', key: 'url', processes: ['mailer'] }],
  },
  'a misspelt value': { ...LEAST, supportMail: 'support@gateway.example' },
  'an ingress without a host': { ...LEAST, ingress: { enabled: true } },
  'scaling without a Prometheus': { ...LEAST, keda: { enabled: true } },
};
