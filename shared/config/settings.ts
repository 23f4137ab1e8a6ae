import { networkInterfaces } from 'node:os';
import { LOCALHOST } from '#shared/kernel/localhost.ts';
import { DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';
import { inContainer } from './container.ts';
import {
  code,
  counts,
  days,
  electricityContracts,
  emailAddress,
  flag,
  headerPairs,
  integer,
  list,
  listOrNone,
  longSecret,
  oneOf,
  origin,
  pageOrigin,
  pairs,
  plainText,
  publicAddress,
  publicUrl,
  redisUrls,
  share,
  url,
  witness,
  type Parser,
} from './parsers.ts';

/** The text of a default: fixed, or made from another setting's text. */
type DefaultText = string | ((textOf: (name: string) => string) => string);

export interface Setting<T, Secret extends boolean = boolean> {
  /** The variable's name. */
  readonly name: string;
  readonly parse: Parser<T>;
  /** Absent when the setting may stay unset, or must be set. */
  readonly fallback?: DefaultText;
  /** A credential: it is masked when settings are shown, and stands in `Config.secrets`. */
  readonly secret: Secret;
  /** One sentence for the operator. */
  readonly description: string;
}

/** The processes of the Procfile, in the order in which they start. */
export const ROLES = [
  'receipts',
  'ledger',
  'recalculation',
  'exports',
  'purge',
  'housekeeping',
  'inference',
  'api',
] as const;
export type Role = (typeof ROLES)[number];

/** Those that no request waits for: where little is asked of them, they may share one process. */
export const BACKGROUND_ROLES = [
  'ledger',
  'recalculation',
  'exports',
  'purge',
  'housekeeping',
] as const satisfies readonly Role[];
export type BackgroundRole = (typeof BACKGROUND_ROLES)[number];

/** Providers whose models the embedded mode offers when it finds their keys or addresses in the environment. */
export const PROVIDER_NAMES = [
  'openai',
  'anthropic',
  'gemini',
  'mistral',
  'groq',
  'deepseek',
  'openrouter',
  'azure',
  'ollama',
  'vllm',
] as const;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** As OpenTelemetry names them. */
export const TRACES_SAMPLERS = [
  'parentbased_traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'traceidratio',
  'always_on',
  'always_off',
] as const;

const path = plainText(1_024);
/** Nothing that a caller or an orchestrator waits for takes longer. */
const WAIT_MS_MAX = HOUR_MS;

/** Every address of both families; machines without IPv6 have no `::` to listen on. */
function allAddresses(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((ofOne) => ofOne ?? []);
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0';
}

/**
 * One row per setting; the key is the field of `Config`, or of `Config.secrets`. Adding a row is all it takes: it is
 * parsed, refused, defaulted, frozen, shown by `docket doctor` and listed in docs/operations.md like the others.
 */
export const SETTINGS = {
  port: setting('PORT', integer(0, 65_535), '8080', 'Port of the API; 0 takes a free one.'),
  host: setting(
    'HOST',
    plainText(255),
    allAddresses,
    'Address the API listens on; `localhost`: this machine’s own of both families.',
  ),
  reusePort: setting(
    'REUSE_PORT',
    flag,
    '0',
    'Let several api processes listen on the same port (Linux).',
  ),
  metricsPort: setting(
    'METRICS_PORT',
    integer(0, 65_535),
    '9464',
    'Port of /livez, /startupz, /readyz and /metrics; 0 takes a free one.',
  ),
  metricsHost: setting(
    'METRICS_HOST',
    plainText(255),
    (textOf) => (inContainer() && textOf('HOST') !== LOCALHOST ? textOf('HOST') : '127.0.0.1'),
    'Address that port listens on: in a container that of the API, elsewhere the loopback address.',
  ),
  adminPort: optional(
    'ADMIN_PORT',
    integer(0, 65_535),
    'Port of the admin API, which each api process that has it serves; 0 takes a free one, and without it there is none.',
  ),
  adminHost: setting(
    'ADMIN_HOST',
    plainText(255),
    '127.0.0.1',
    'Address the admin API listens on. It speaks HTTP: beyond this machine only with TLS before it.',
  ),
  publicUrl: setting(
    'PUBLIC_URL',
    publicUrl,
    (textOf) => `http://localhost:${textOf('PORT')}`,
    'Address under which callers and verifiers reach the service; receipts carry it.',
  ),
  logLevel: setting('LOG_LEVEL', oneOf(LOG_LEVELS), 'info', 'Least severity that is logged.'),
  cataloguePath: optional(
    'CATALOGUE',
    path,
    'File with the models, regions and endpoints; the shipped one when unset.',
  ),
  regions: setting(
    'REGIONS',
    list(code, 64),
    '',
    'Regions whose lanes an inference worker takes; all of the catalogue when unset.',
  ),
  shards: setting(
    'SHARDS',
    integer(1, 1_024),
    '1',
    'Over how many hash tags the lanes are spread.',
  ),
  replies: setting(
    'REPLIES',
    oneOf(['direct', 'redis']),
    'direct',
    'How workers tell the api processes of their machine of frames and receipts: over a connection of their own, or through Redis alone.',
  ),
  supportEmail: setting(
    'SUPPORT_EMAIL',
    emailAddress,
    'support@localhost',
    'Address that refusals and e-mails send people to; processes do not start without it, the embedded mode does.',
  ),
  bodyBytesMax: setting(
    'BODY_BYTES_MAX',
    integer(1_024, 268_435_456),
    String(20 * 1_024 * 1_024),
    'Largest request body; 20 MiB lets images through.',
  ),
  receiptWaitMs: setting(
    'RECEIPT_WAIT_MS',
    integer(1, 60_000),
    '2000',
    'How long an answer waits for its signed receipt before it goes out with a pending one.',
  ),
  upstreamTimeoutMs: setting(
    'UPSTREAM_TIMEOUT_MS',
    integer(100, WAIT_MS_MAX),
    '120000',
    'Silence of an upstream that ends the call, where the catalogue names no other.',
  ),
  shutdownMs: setting(
    'SHUTDOWN_MS',
    integer(0, WAIT_MS_MAX),
    '25000',
    'Time to finish open work after SIGTERM; below the 30 s after which orchestrators kill.',
  ),
  lameDuckMs: setting(
    'LAME_DUCK_MS',
    integer(0, WAIT_MS_MAX),
    '5000',
    'How long an api process goes on serving after SIGTERM, not ready, until balancers send nothing more; at most half of SHUTDOWN_MS.',
  ),
  signingKeysDir: setting(
    'SIGNING_KEYS_DIR',
    path,
    (textOf) => `${textOf('DOCKET_DATA_DIR')}/signing-keys`,
    'Directory of the Ed25519 signing keys (PEM, mode 0600; root’s own may be 0440).',
  ),
  signingAgent: optional(
    'SIGNING_AGENT',
    path,
    'Socket of an SSH agent that signs with the keys whose public halves alone are in SIGNING_KEYS_DIR.',
  ),
  laneKeysDir: setting(
    'LANE_KEYS_DIR',
    path,
    (textOf) => `${textOf('DOCKET_DATA_DIR')}/lane-keys`,
    'Directory of the keys that seal prompts and answers between api and workers (32 bytes, mode 0600; root’s own may be 0440).',
  ),
  exportStore: setting(
    'EXPORT_STORE',
    path,
    (textOf) => `${textOf('DOCKET_DATA_DIR')}/exports`,
    'Where evidence packs are kept: a directory or s3://bucket/prefix.',
  ),
  receiptBodiesOnline: optional(
    'RECEIPT_BODIES_ONLINE',
    days(30, 3_650),
    'How long the bytes of receipts stay in PostgreSQL, as `90d`: whole months that are older move to RECEIPT_ARCHIVE; unset: for ever.',
  ),
  receiptArchive: optional(
    'RECEIPT_ARCHIVE',
    path,
    'Where they move: a directory or s3://bucket/prefix, the same for api, housekeeping, recalculation and exports, and for docket ledger.',
  ),
  s3Endpoint: optional('S3_ENDPOINT', url('https', 'http'), 'S3 service other than AWS.'),
  s3KmsKeyId: optional(
    'S3_KMS_KEY_ID',
    plainText(2_048),
    'Key of KMS by which what is written to a bucket is encrypted; when unset, the bucket decides.',
  ),
  awsRegion: setting('AWS_REGION', plainText(64), 'us-east-1', 'Region of the S3 buckets.'),
  dataDir: setting('DOCKET_DATA_DIR', path, '.docket', 'Data of the embedded mode.'),
  replicas: setting(
    'REPLICAS',
    counts(ROLES, 64),
    '',
    'Embedded mode: how many of a role to start, as in api=2,inference=2.',
  ),
  backgroundRoles: setting(
    'BACKGROUND_ROLES',
    listOrNone(oneOf(BACKGROUND_ROLES), BACKGROUND_ROLES.length),
    BACKGROUND_ROLES.join(','),
    'Embedded mode: the roles that share one process, unless REPLICAS names them; none gives each its own.',
  ),
  providers: setting(
    'PROVIDERS',
    listOrNone(oneOf(PROVIDER_NAMES), PROVIDER_NAMES.length),
    PROVIDER_NAMES.join(','),
    'Embedded mode: the providers whose models are offered when their key or address is in the environment; none offers none.',
  ),
  allowVolatileRedis: setting(
    'ALLOW_VOLATILE_REDIS',
    flag,
    '0',
    'Accept a Redis without append-only file or with an evicting policy.',
  ),
  databasePoolMax: setting(
    'DATABASE_POOL_MAX',
    integer(1, 1_000),
    '10',
    'PostgreSQL connections of one api process, beside those for pages and kept responses.',
  ),
  statementTimeoutMs: setting(
    'STATEMENT_TIMEOUT_MS',
    integer(100, WAIT_MS_MAX),
    '30000',
    'After this a PostgreSQL statement is cancelled.',
  ),
  databasePooler: optional(
    'DATABASE_POOLER',
    oneOf(['transaction']),
    'transaction: DATABASE_URL and DATABASE_READ_URL lead to a pooler, as PgBouncer, that gives each transaction another connection to PostgreSQL.',
  ),
  inferenceConcurrency: setting(
    'INFERENCE_CONCURRENCY',
    integer(1, 10_000),
    '1024',
    'Upstream calls one inference worker has open at once.',
  ),
  receiptsBatchMax: setting(
    'RECEIPTS_BATCH_MAX',
    integer(1, 2_000),
    '32',
    'Receipts committed to PostgreSQL in one statement; two statements run at once.',
  ),
  ledgerBatchMax: setting(
    'LEDGER_BATCH_MAX',
    integer(1, 10_000),
    '1024',
    'Pending receipts integrated in one transaction.',
  ),
  recalculationConcurrency: setting(
    'RECALCULATION_CONCURRENCY',
    integer(1, 256),
    '4',
    'Recalculations one worker runs at once.',
  ),
  meterSettleMs: setting(
    'METER_SETTLE_MS',
    integer(0, DAY_MS),
    '900000',
    'How long after it metered energy waits for the requests that used it to end and have their receipts.',
  ),
  meteredDays: setting(
    'METERED_DAYS',
    integer(1, 36_500),
    '400',
    'Days after which it is forgotten which requests ran on metered endpoints; intervals stay, as receipts name them.',
  ),
  requestsKeptDays: setting(
    'REQUESTS_KEPT_DAYS',
    integer(1, 3_650),
    '30',
    'Days for which it is kept what became of each request: status, error, times and tokens, no texts; whole days, UTC.',
  ),
  closedReadDays: setting(
    'CLOSED_READ_DAYS',
    integer(0, 36_500),
    '90',
    'Days in which the owners of a closed organisation can still read its receipts, packs, ledger and audit log in the dashboard.',
  ),
  operatorName: optional(
    'OPERATOR_NAME',
    plainText(200),
    'Legal name of who operates the gateway, for the reports of evidence packs.',
  ),
  operatorIdentifier: optional(
    'OPERATOR_IDENTIFIER',
    plainText(128),
    'How it is named beside that: a LEI, a number in a register, with what it is.',
  ),
  electricityContracts: setting(
    'ELECTRICITY_CONTRACTS',
    electricityContracts,
    '',
    'Contracts for electricity, `<region>=<kg CO2e per kWh> <what it is>`, with semicolons between: reports then state market-based figures too.',
  ),
  evidence: optional(
    'EVIDENCE',
    plainText(4_096),
    'A file (JSON) that names, by SHA-256, the evidence for what the operator declares: docs/evidence-pack.md has its form. Reports then name it.',
  ),
  inventory: optional(
    'INVENTORY',
    plainText(4_096),
    'A file (JSON) with what the operator states of its inventory of greenhouse gas, such as its consolidation approach: docs/evidence-pack.md has its form. Reports then have it.',
  ),
  witnessPolicy: optional(
    'WITNESS_POLICY',
    plainText(4_096),
    'A file (C2SP tlog-policy, ASCII) that says whose cosignatures the anchor log is to have. Packs then have it, and verifiers judge it as the operator’s own.',
  ),
  packsKeptDays: setting(
    'PACKS_KEPT_DAYS',
    integer(1, 3_650),
    '7',
    'Days for which a finished evidence pack is kept; after that it is made anew for who asks for it. Its report says so.',
  ),
  exportsConcurrency: setting(
    'EXPORTS_CONCURRENCY',
    integer(1, 64),
    '1',
    'Evidence packs one worker builds at once.',
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    list(plainText(64), 64),
    '',
    'Addresses or CIDR ranges whose x-forwarded-for is believed.',
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    list(pageOrigin, 100),
    '',
    'Origins of pages that may call the API from a browser, as in https://chat.example,app://obsidian.md; none when unset.',
  ),
  addressRequestsPerSecond: setting(
    'ADDRESS_REQUESTS_PER_SECOND',
    integer(1, 1_000_000),
    '200',
    'Requests of one address without a good key that an api process answers; five seconds of it at once.',
  ),
  mailFrom: setting('MAIL_FROM', emailAddress, 'docket@localhost', 'Sender of mails.'),
  tsaUrl: optional(
    'TSA_URL',
    url('https', 'http'),
    'RFC 3161 time-stamping service of the anchor.',
  ),
  witnesses: setting(
    'WITNESSES',
    list(witness, 16),
    '',
    'Witnesses that cosign the anchor log, each as `<verifier key> <submission prefix>`.',
  ),
  accessLog: setting(
    'ACCESS_LOG',
    oneOf(['off', 'json']),
    'off',
    'A line of the log for each answer of the API: ids, route, status, code, model, tokens, time; nothing that its caller wrote.',
  ),
  mediaUrls: setting(
    'MEDIA_URLS',
    oneOf(['any', 'data']),
    'any',
    'URLs that requests may have for an upstream to fetch: with data only media that bring their data, and no tool of a server that reaches others.',
  ),
  moderationUrl: optional(
    'MODERATION_URL',
    url('https', 'http'),
    'Endpoint with OpenAI’s moderation interface that judges what the rules let through; ends in /v1.',
  ),
  moderationModel: setting(
    'MODERATION_MODEL',
    plainText(128),
    'omni-moderation-latest',
    'Model that the moderation endpoint is asked for.',
  ),
  moderationFailMode: setting(
    'MODERATION_FAIL_MODE',
    oneOf(['closed', 'open']),
    'closed',
    'What becomes of requests that could not be judged: open lets them pass.',
  ),
  moderationTimeoutMs: setting(
    'MODERATION_TIMEOUT_MS',
    integer(10, 60_000),
    '2000',
    'How long a judgement may take; every request waits for it.',
  ),
  otlpEndpoint: optional(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    publicAddress,
    'OpenTelemetry collector to which api, inference and receipts processes send traces, by OTLP/HTTP at /v1/traces below it; without it there are none.',
  ),
  serviceName: optional(
    'OTEL_SERVICE_NAME',
    plainText(255),
    'Name of the service in traces; `docket-api`, `docket-inference` and `docket-receipts` when unset.',
  ),
  resourceAttributes: setting(
    'OTEL_RESOURCE_ATTRIBUTES',
    pairs,
    '',
    'What traces say of every process beside that, as in deployment.environment.name=production,service.namespace=docket.',
  ),
  tracesSampler: setting(
    'OTEL_TRACES_SAMPLER',
    oneOf(TRACES_SAMPLERS),
    'parentbased_traceidratio',
    'Which requests are traced: a share of them (traceidratio), all (always_on) or none (always_off); with parentbased_ before it, that is so of those without a trace, and of others their caller says it.',
  ),
  tracesShare: setting('OTEL_TRACES_SAMPLER_ARG', share, '1', 'That share, from 0 to 1.'),
  databaseUrl: secret('DATABASE_URL', url('postgres', 'postgresql'), 'PostgreSQL.'),
  databaseDirectUrl: secret(
    'DATABASE_DIRECT_URL',
    url('postgres', 'postgresql'),
    'PostgreSQL itself, beside a pooler: for migrations, and for notices of changed keys, without which they are read again after seconds.',
  ),
  databaseReadUrl: secret(
    'DATABASE_READ_URL',
    url('postgres', 'postgresql'),
    'One streaming replica, for lists of receipts, usage and what packs are made of, while it is known to be at most two seconds behind.',
  ),
  redisUrl: secret(
    'REDIS_URL',
    redisUrls,
    'Redis or Valkey (append-only, noeviction); of a cluster any node, or several separated by commas; behind Sentinel `redis+sentinel://user:password@host:port,host:port/name`.',
  ),
  sessionSecret: secret(
    'SESSION_SECRET',
    longSecret(32),
    'Signs the sessions of the dashboard, the same for all api processes; without it there is no dashboard.',
  ),
  sessionSecretOlder: secret(
    'SESSION_SECRET_OLDER',
    longSecret(32),
    'A second one, by which what it signed and sealed still counts, while SESSION_SECRET is exchanged for another.',
  ),
  webhooksSecret: secret(
    'WEBHOOKS_SECRET',
    longSecret(32),
    'Seals the signing secrets of webhooks, the same for all api and housekeeping processes; without it there are no webhooks.',
  ),
  webhooksInside: setting(
    'WEBHOOKS_INSIDE',
    list(origin, 20),
    '',
    'Origins of webhook receivers that may lie within your own network, or have no TLS; all others must be on the internet.',
  ),
  ssoInsideIssuers: setting(
    'SSO_INSIDE_ISSUERS',
    list(origin, 20),
    '',
    'Origins of single sign-on issuers that may lie within your own network, or have no TLS; all others must be on the internet.',
  ),
  moderationApiKey: secret(
    'MODERATION_API_KEY',
    plainText(512),
    'Credential of the moderation endpoint.',
  ),
  otlpHeaders: secret(
    'OTEL_EXPORTER_OTLP_HEADERS',
    headerPairs,
    'Headers for the OpenTelemetry collector, as in authorization=Bearer%20…; values are percent-encoded.',
  ),
  smtpUrl: secret(
    'SMTP_URL',
    url('smtp', 'smtps'),
    'Mail server, over TLS (smtps://, or STARTTLS with smtp://) unless it is this machine or ends in ?requireTLS=false; when unset, mails are files under DOCKET_DATA_DIR/mail.',
  ),
  awsAccessKeyId: secret(
    'AWS_ACCESS_KEY_ID',
    plainText(256),
    'Credential of the S3 bucket; when unset, that of the role of the machine, container or web identity.',
  ),
  awsSecretAccessKey: secret(
    'AWS_SECRET_ACCESS_KEY',
    plainText(256),
    'Credential of the S3 bucket.',
  ),
  awsSessionToken: secret(
    'AWS_SESSION_TOKEN',
    plainText(8_192),
    'Token that belongs to temporary credentials of the S3 bucket.',
  ),
} as const satisfies Record<string, Setting<unknown>>;

/** A setting with a default. */
function setting<T>(
  name: string,
  parse: Parser<T>,
  fallback: DefaultText,
  description: string,
): Setting<T, false> {
  return { name, parse, fallback, secret: false, description };
}

/** A setting that may stay unset. */
function optional<T>(
  name: string,
  parse: Parser<T>,
  description: string,
): Setting<T | undefined, false> {
  return { name, parse, secret: false, description };
}

/** A credential, which may stay unset. */
function secret(
  name: string,
  parse: Parser<string>,
  description: string,
): Setting<string | undefined, true> {
  return { name, parse, secret: true, description };
}
