import {
  ConfigError,
  describeSettings,
  loadToolConfig,
  type SettingReport,
  type ToolConfig,
} from '#shared/config/config.ts';
import { type DevFile, readDevFile } from '#embedded/launcher/dev-file.ts';
import { canInstall, findRedisBinary } from '#embedded/stores/redis-binary.ts';
import { type Finding, ok, problem, skipped } from './finding.ts';
import { examineAddresses, examineMail } from './addresses.ts';
import { examineProcesses } from './instance.ts';
import {
  examineDirectory,
  examineExportStore,
  examineReceiptArchive,
  examineNode,
  examinePort,
  examineSigningKeys,
} from './machine.ts';
import { examineCatalogue } from './catalogue.ts';
import { examinePostgres } from './postgres.ts';
import { examinePublishedLogs } from './published.ts';
import { examineRedis } from './redis.ts';

export interface Report {
  /** False when anything must be fixed. */
  healthy: boolean;
  findings: Finding[];
  settings: SettingReport[];
}

/** Looks at everything that Docket needs, with `upstreams` also at what those answer. Never throws for what it finds. */
export async function examine({ upstreams }: { upstreams: boolean }): Promise<Report> {
  const settings = describeSettings();
  const findings = [examineNode()];
  try {
    const config = loadToolConfig();
    findings.push(ok('settings', 'all of them can be used'));
    findings.push(...(await examineWith(config, upstreams)));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    findings.push(
      ...error.problems.map((line) => problem('settings', line, 'correct the variable')),
    );
    findings.push(skipped('everything else', 'the settings come first'));
  }
  return { healthy: findings.every(({ verdict }) => verdict !== 'problem'), findings, settings };
}

async function examineWith(config: ToolConfig, upstreams: boolean): Promise<Finding[]> {
  const instance = await readDevFile(config.dataDir);
  const { databaseUrl, redisUrl } = config.secrets;
  const embedded = databaseUrl === undefined || redisUrl === undefined;
  // In the embedded mode it listens on the loopback address alone.
  const host = embedded ? '127.0.0.1' : config.host;
  const sandboxUrl = instance === undefined ? undefined : `${instance.sandbox_url}/v1`;
  const [catalogue, ...groups] = await Promise.all([
    examineCatalogue({ upstreams, sandboxUrl }),
    examineDatabase(databaseUrl ?? instance?.database_url, config),
    examineQueues(redisUrl ?? instance?.redis_url, config),
    examinePublication(instance, config),
    embedded ? examineDirectory('data directory', config.dataDir) : [],
    examineExportStore(config),
    examineReceiptArchive(config),
    examinePort(host, config.port, isAt(instance, config.port)),
    instance === undefined ? [] : examineProcesses(instance),
    examineMail(config, embedded),
  ]);
  return [
    ...groups.flat(),
    ...examineAddresses(config, embedded),
    await examineSigningKeys(config, embedded),
    ...catalogue,
  ];
}

function isAt(instance: DevFile | undefined, port: number): boolean {
  return instance !== undefined && Number(new URL(instance.base_url).port) === port;
}

async function examineDatabase(url: string | undefined, config: ToolConfig): Promise<Finding[]> {
  const { databaseUrl, databaseDirectUrl, databaseReadUrl } = config.secrets;
  if (url !== undefined) {
    return examinePostgres({
      url,
      ours: databaseUrl === undefined,
      pooler: config.databasePooler,
      directUrl: databaseDirectUrl,
      readUrl: databaseReadUrl,
    });
  }
  return [skipped('PostgreSQL', 'DATABASE_URL is not set: docket up starts one of its own')];
}

/** What was published is known to both stores together. */
async function examinePublication(
  instance: DevFile | undefined,
  { databasePooler, secrets }: ToolConfig,
): Promise<Finding[]> {
  const url = secrets.databaseUrl ?? instance?.database_url;
  const isRedis = (secrets.redisUrl ?? instance?.redis_url) !== undefined;
  return url === undefined || !isRedis ? [] : [await examinePublishedLogs(url, databasePooler)];
}

async function examineQueues(url: string | undefined, config: ToolConfig): Promise<Finding[]> {
  if (url !== undefined) return examineRedis(url, config);
  const binary = await findRedisBinary();
  if (binary !== undefined) {
    return [skipped('Redis', `REDIS_URL is not set: docket up starts ${binary}`)];
  }
  if (await canInstall()) {
    return [
      skipped('Redis', 'REDIS_URL is not set: docket up installs redis-server and starts it'),
    ];
  }
  const fix = 'install redis-server or valkey-server, or set REDIS_URL';
  return [problem('Redis', 'REDIS_URL is not set, and there is no redis-server on the PATH', fix)];
}
