import { type Environment, readEnvironment, SECRET_SETTINGS, SETTINGS } from './env.ts';
import type { Setting } from './setting.ts';
import { hideValues, maskSecret } from './secrets.ts';

type Values<T extends Record<string, Setting<unknown>>> = {
  readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : never;
};

type StoreUrls = 'databaseUrl' | 'redisUrl';
type SecretValues = Values<typeof SECRET_SETTINGS>;

/** What a command that can do without stores gets: the launcher, offline verification. */
export interface ToolConfig extends Values<typeof SETTINGS> {
  readonly secrets: SecretValues;
  /** Credential that the catalogue names (`api_key_env`); undefined when it is not set. */
  readonly upstreamCredential: (name: string) => string | undefined;
}

/** What every process gets: both stores are known. */
export interface Config extends ToolConfig {
  readonly secrets: Omit<SecretValues, StoreUrls> & Readonly<Record<StoreUrls, string>>;
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
 * @throws ConfigError with all problems: values out of bounds, contradictions, missing store URLs.
 */
export function loadConfig(env: Environment = readEnvironment()): Config {
  const problems: string[] = [];
  for (const { name } of [SECRET_SETTINGS.databaseUrl, SECRET_SETTINGS.redisUrl]) {
    if (textOf(env, name) === undefined) problems.push(`${name} is not set`);
  }
  return readConfig(env, problems) as Config;
}

/** The same for commands that need no stores or bring their own. */
export function loadToolConfig(env: Environment = readEnvironment()): ToolConfig {
  return readConfig(env, []);
}

function readConfig(env: Environment, problems: string[]): ToolConfig {
  const settings = readSettings(SETTINGS, env, problems);
  const secrets = readSettings(SECRET_SETTINGS, env, problems);
  if (problems.length === 0) problems.push(...contradictions(settings, secrets));
  if (problems.length > 0) throw new ConfigError(problems);
  const upstreamCredential = (name: string): string | undefined => textOf(env, name);
  return Object.freeze({ ...settings, secrets: hideValues(secrets), upstreamCredential });
}

function readSettings<T extends Record<string, Setting<unknown>>>(
  table: T,
  env: Environment,
  problems: string[],
): Values<T> {
  const values: Record<string, unknown> = {};
  for (const [field, setting] of Object.entries(table)) {
    const set = textOf(env, setting.name);
    const text = set ?? fallbackOf(env, setting);
    try {
      values[field] = text === undefined ? undefined : setting.parse(text);
    } catch (error) {
      // A default can only be wrong because the setting it is made from is: that one is reported.
      if (set !== undefined) problems.push(`${setting.name} ${reasonOf(error)}`);
    }
  }
  return values as Values<T>;
}

/** Settings that are fine by themselves and wrong together. */
function contradictions(
  settings: Values<typeof SETTINGS>,
  secrets: Values<typeof SECRET_SETTINGS>,
): string[] {
  const problems: string[] = [];
  if (settings.port !== 0 && settings.port === settings.metricsPort) {
    problems.push('PORT and METRICS_PORT must differ');
  }
  if ((secrets.awsAccessKeyId === undefined) !== (secrets.awsSecretAccessKey === undefined)) {
    problems.push('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together');
  }
  if (settings.exportStore.startsWith('s3://') && secrets.awsAccessKeyId === undefined) {
    problems.push('EXPORT_STORE is an S3 bucket, so AWS_ACCESS_KEY_ID must be set');
  }
  return problems;
}

function textOf(env: Environment, name: string): string | undefined {
  const text = env[name]?.trim();
  return text === '' ? undefined : text;
}

function fallbackOf(env: Environment, { fallback }: Setting<unknown>): string | undefined {
  return typeof fallback === 'function' ? fallback((name) => textOrFallback(env, name)) : fallback;
}

function textOrFallback(env: Environment, name: string): string {
  const setting = allSettings().find((row) => row.name === name);
  return textOf(env, name) ?? (setting === undefined ? '' : (fallbackOf(env, setting) ?? ''));
}

function allSettings(): Setting<unknown>[] {
  return [...Object.values(SECRET_SETTINGS), ...Object.values(SETTINGS)];
}

/** One line of what `docket doctor` prints. */
export interface SettingReport {
  name: string;
  /** As text, credentials masked; empty when unset. */
  value: string;
  source: 'environment' | 'default' | 'unset';
  secret: boolean;
  description: string;
  /** What is wrong with the value, or null. */
  problem: string | null;
}

/** Every setting with its value and where it came from; never throws, so that a doctor can use it. */
export function describeSettings(env: Environment = readEnvironment()): SettingReport[] {
  return allSettings().map((setting) => {
    const set = textOf(env, setting.name);
    const text = set ?? fallbackOf(env, setting);
    return {
      name: setting.name,
      value: text === undefined ? '' : setting.secret ? maskSecret(text) : text,
      source: set !== undefined ? 'environment' : text !== undefined ? 'default' : 'unset',
      secret: setting.secret,
      description: setting.description,
      problem: text === undefined ? null : problemOf(setting, text),
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
