import { readFileSync } from 'node:fs';
import { type Setting, SETTINGS } from './settings.ts';

/** The environment as a process gets it. An empty variable counts as one that is not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** This process's own environment. Nothing else of the product reads `process.env`, but for `cli/start.js`, which runs before it. */
export function readEnvironment(): Environment {
  return { ...process.env };
}

type Rows = typeof SETTINGS;
/** The values of the settings that are secret, or of those that are not. */
type Values<Secret extends boolean> = {
  readonly [K in keyof Rows as Rows[K]['secret'] extends Secret ? K : never]: ReturnType<
    Rows[K]['parse']
  >;
};
type StoreUrls = 'databaseUrl' | 'redisUrl';

/** The configuration of commands that can do without stores: the launcher, offline verification. */
export interface ToolConfig extends Values<false> {
  readonly secrets: Values<true>;
  /** Credential that the catalogue names (`api_key_env`); undefined when it is not set. Throws ConfigError for a file of it that cannot be read. */
  readonly upstreamCredential: (name: string) => string | undefined;
}

/** The configuration of every process: both stores are known, and where people turn to. */
export interface Config extends ToolConfig {
  readonly secrets: Omit<Values<true>, StoreUrls> & Readonly<Record<StoreUrls, string>>;
}

/** Everything that is wrong with the environment, one line each, so that it is fixed in one go. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The environment cannot be used:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * The configuration of a process, frozen.
 * @throws ConfigError with all problems: values out of bounds, contradictions, missing store URLs and support address.
 */
export function loadConfig(env: Environment = readEnvironment()): Config {
  const problems: string[] = [];
  for (const setting of [SETTINGS.databaseUrl, SETTINGS.redisUrl]) {
    if (givenOf(env, setting).source === 'unset') problems.push(`${setting.name} is not set`);
  }
  const { name } = SETTINGS.supportEmail;
  if (textOf(env, name) === undefined) {
    problems.push(`${name} is not set: refusals and e-mails send people there`);
  }
  return readConfig(env, problems) as Config;
}

/** The same for commands that need no stores or bring their own. */
export function loadToolConfig(env: Environment = readEnvironment()): ToolConfig {
  return readConfig(env, []);
}

/** The same configuration with another address of Redis: all nodes of a cluster, once they are known. */
export function withRedisUrl(config: Config, redisUrl: string): Config {
  const secrets: Record<string, unknown> = { redisUrl };
  for (const name of Object.getOwnPropertyNames(config.secrets)) {
    secrets[name] ??= config.secrets[name as keyof Config['secrets']];
  }
  return Object.freeze({ ...config, secrets: hideValues(secrets as Config['secrets']) });
}

function readConfig(env: Environment, problems: string[]): ToolConfig {
  const settings: Record<string, unknown> = {};
  const secrets: Record<string, unknown> = {};
  for (const [field, setting] of Object.entries(SETTINGS)) {
    const { text, source, problem } = givenOf(env, setting);
    if (problem !== undefined) problems.push(`${setting.name} ${problem}`);
    try {
      const values = setting.secret ? secrets : settings;
      values[field] = text === undefined ? undefined : setting.parse(text);
    } catch (error) {
      // A default can only be wrong because the setting it is made from is: that one is reported.
      if (source !== 'default') problems.push(`${setting.name} ${reasonOf(error)}`);
    }
  }
  const config = {
    ...(settings as Values<false>),
    secrets: hideValues(secrets as Values<true>),
    upstreamCredential: (name: string) => {
      const { text, problem } = secretOf(env, name);
      if (problem !== undefined) throw new ConfigError([`${name} ${problem}`]);
      return text;
    },
  };
  if (problems.length === 0) problems.push(...contradictions(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

/** Settings that are fine by themselves and wrong together. */
function contradictions(config: ToolConfig): string[] {
  const { port, metricsPort, adminPort, databasePooler, secrets } = config;
  const problems: string[] = [];
  if (databasePooler === undefined && secrets.databaseDirectUrl !== undefined) {
    problems.push(
      'DATABASE_DIRECT_URL stands beside a pooler: set DATABASE_POOLER=transaction too',
    );
  }
  if (secrets.sessionSecret === undefined && secrets.sessionSecretOlder !== undefined) {
    problems.push('SESSION_SECRET_OLDER stands beside SESSION_SECRET, which is not set');
  }
  if (port !== 0 && port === metricsPort) problems.push('PORT and METRICS_PORT must differ');
  if (adminPort !== undefined && adminPort !== 0 && [port, metricsPort].includes(adminPort)) {
    problems.push('ADMIN_PORT must be another than PORT and METRICS_PORT');
  }
  if ((secrets.awsAccessKeyId === undefined) !== (secrets.awsSecretAccessKey === undefined)) {
    problems.push('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together');
  }
  if (config.receiptBodiesOnline !== undefined && config.receiptArchive === undefined) {
    problems.push('RECEIPT_BODIES_ONLINE is set, so RECEIPT_ARCHIVE must say where receipts move');
  }
  return problems;
}

function textOf(env: Environment, name: string): string | undefined {
  const text = env[name]?.trim();
  return text === '' ? undefined : text;
}

/** The text of a setting, and where it is from. */
interface Given {
  text: string | undefined;
  source: SettingReport['source'];
  /** Why there is no text, where there should be. */
  problem?: string;
}

function givenOf(env: Environment, setting: Setting<unknown>): Given {
  const { name } = setting;
  const set = setting.secret ? secretOf(env, name) : { text: textOf(env, name) };
  if (set.problem !== undefined) return { source: 'file', ...set };
  if (set.text !== undefined) return { source: 'environment', ...set };
  const text = fallbackOf(env, setting);
  return { text, source: text === undefined ? 'unset' : 'default' };
}

/**
 * A credential: the variable of its name, or the content of the file that `<name>_FILE` names, as containers are given
 * secrets. Where both are there, it is not known which was meant.
 */
function secretOf(env: Environment, name: string): Omit<Given, 'source'> & { source?: 'file' } {
  const text = textOf(env, name);
  const file = textOf(env, `${name}_FILE`);
  if (file === undefined) return { text };
  const refused = (problem: string) => ({ text: undefined, source: 'file' as const, problem });
  if (text !== undefined) return refused(`and ${name}_FILE are both set`);
  try {
    const content = textOf({ [name]: readFileSync(file, 'utf8') }, name);
    return content === undefined
      ? refused(`is in an empty file`)
      : { text: content, source: 'file' };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return refused(`cannot be read from the file that ${name}_FILE names (${code})`);
  }
}

function fallbackOf(env: Environment, { fallback }: Setting<unknown>): string | undefined {
  return typeof fallback === 'function' ? fallback((name) => textOrFallback(env, name)) : fallback;
}

function textOrFallback(env: Environment, name: string): string {
  const setting = Object.values(SETTINGS).find((row) => row.name === name);
  return textOf(env, name) ?? (setting === undefined ? '' : (fallbackOf(env, setting) ?? ''));
}

/** One line of what `docket doctor` prints. */
export interface SettingReport {
  name: string;
  /** As text, credentials masked; empty when unset. */
  value: string;
  source: 'environment' | 'file' | 'default' | 'unset';
  secret: boolean;
  description: string;
  /** The reason why the value cannot be used, or null. */
  problem: string | null;
}

/** Every setting with its value and where it came from; never throws, so that a doctor can use it. */
export function describeSettings(env: Environment = readEnvironment()): SettingReport[] {
  return Object.values(SETTINGS).map((setting) => {
    const { text, source, problem } = givenOf(env, setting);
    return {
      name: setting.name,
      value: text === undefined ? '' : setting.secret ? maskSecret(text) : text,
      source,
      secret: setting.secret,
      description: setting.description,
      problem: problem ?? (text === undefined ? null : problemOf(setting, text)),
    };
  });
}

function problemOf(setting: Setting<unknown>, text: string): string | null {
  try {
    setting.parse(text);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'is not valid';
}

/**
 * The same values as properties that neither serialising, inspecting nor spreading copies, so that a
 * logger or an error report that gets hold of the object shows nothing of them.
 */
function hideValues<T extends object>(values: T): Readonly<T> {
  const hidden = {} as T;
  for (const name of Object.keys(values) as (keyof T)[]) {
    Object.defineProperty(hidden, name, { value: values[name], enumerable: false });
  }
  return Object.freeze(hidden);
}

/** Printed in place of a credential. */
const MASK = '******';

/** `text` fit for a screen: a URL without its password and query, anything else the mask alone. */
function maskSecret(text: string): string {
  if (!URL.canParse(text)) return MASK;
  const { protocol, username, host, pathname } = new URL(text);
  if (host === '') return MASK;
  return `${protocol}//${username === '' ? '' : `${username}:${MASK}@`}${host}${pathname}`;
}
