import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ConfigError,
  describeSettings,
  loadConfig,
  loadToolConfig,
} from '#shared/config/config.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const STORES = {
  DATABASE_URL: 'postgres://docket:hunter2@db.internal/docket',
  REDIS_URL: 'redis://:hunter2@redis.internal:6379',
  SUPPORT_EMAIL: 'support@docket.example',
};

const problemsOf = (env: Record<string, string>): readonly string[] =>
  thrownBy(ConfigError, () => loadConfig(env))?.problems ?? [];

describe('the configuration', () => {
  it('needs nothing but the two stores and where people turn to', () => {
    const config = loadConfig(STORES);
    expect(config.secrets.databaseUrl).toBe(STORES.DATABASE_URL);
    expect(config).toMatchObject({ port: 8_080, receiptWaitMs: 2_000, shards: 1, regions: [] });
    expect(config.publicUrl).toBe('http://localhost:8080');
  });

  it('names all problems at once, one per line', () => {
    const env = {
      ...STORES,
      REDIS_URL: '',
      DATABASE_URL: 'mysql://x',
      PORT: '80a',
      SHARDS: '0',
      LOG_LEVEL: 'loud',
    };
    const problems = problemsOf(env);
    expect(problems.map((line) => line.split(' ')[0])).toEqual([
      'REDIS_URL',
      'PORT',
      'LOG_LEVEL',
      'SHARDS',
      'DATABASE_URL',
    ]);
    expect(new ConfigError(problems).message.split('\n')).toHaveLength(problems.length + 1);
  });

  it('settings of traces are refused where they cannot be meant, in words that repeat no credential', () => {
    const secret = 'authorization: Bearer hunter2';
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:hunter2@collector:4318',
      OTEL_EXPORTER_OTLP_HEADERS: secret,
      OTEL_RESOURCE_ATTRIBUTES: 'service.namespace=%zz',
      OTEL_TRACES_SAMPLER: 'sometimes',
      OTEL_TRACES_SAMPLER_ARG: '1.5',
    };
    const problems = problemsOf({ ...STORES, ...env });
    expect(new Set(problems.map((line) => line.split(' ')[0]))).toEqual(new Set(Object.keys(env)));
    expect(problems.join()).not.toContain('hunter2');
    expect(problemsOf({ ...STORES, OTEL_EXPORTER_OTLP_HEADERS: 'a b=1' })).toHaveLength(1);
    expect(problemsOf({ ...STORES, OTEL_EXPORTER_OTLP_HEADERS: 'a=1%0d%0ab: 2' })).toHaveLength(1);
    expect(problemsOf({ ...STORES, OTEL_TRACES_SAMPLER_ARG: '.25' })).toEqual([]);
  });

  it('treats an empty variable as one that is not set', () => {
    expect(loadConfig({ ...STORES, PORT: '', CATALOGUE: ' ' })).toMatchObject({
      port: 8_080,
      cataloguePath: undefined,
    });
    expect(problemsOf({ ...STORES, REDIS_URL: '' })).toEqual(['REDIS_URL is not set']);
  });

  it('a process without a support address is refused, and a tool is not', () => {
    const { SUPPORT_EMAIL: _, ...stores } = STORES;
    expect(problemsOf(stores)).toEqual([
      'SUPPORT_EMAIL is not set: refusals and e-mails send people there',
    ]);
    expect(problemsOf({ ...STORES, SUPPORT_EMAIL: 'nobody' })).toHaveLength(1);
    expect(loadToolConfig(stores).supportEmail).toBe('support@localhost');
  });

  it('takes port 0 for both listeners, and refuses one port for both', () => {
    expect(loadConfig({ ...STORES, PORT: '0', METRICS_PORT: '0' }).metricsPort).toBe(0);
    expect(problemsOf({ ...STORES, PORT: '9000', METRICS_PORT: '9000' })).toHaveLength(1);
    expect(loadConfig(STORES).adminPort).toBeUndefined();
    expect(problemsOf({ ...STORES, PORT: '9000', ADMIN_PORT: '9000' })).toHaveLength(1);
  });

  it('refuses a direct address of PostgreSQL where no pooler is named that it would stand beside', () => {
    const env = { ...STORES, DATABASE_DIRECT_URL: 'postgres://a@b/c' };
    expect(() => loadConfig(env)).toThrow(/set DATABASE_POOLER=transaction too/);
    expect(loadConfig({ ...env, DATABASE_POOLER: 'transaction' }).databasePooler).toBe(
      'transaction',
    );
  });

  it('takes an S3 store without a credential, which the role of the machine may have, and refuses half of one', () => {
    expect(problemsOf({ ...STORES, EXPORT_STORE: 's3://packs/docket' })).toEqual([]);
    expect(problemsOf({ ...STORES, AWS_ACCESS_KEY_ID: 'a' })).toHaveLength(1);
    // Receipts that may not stay need a place to go to, and time is said with its unit.
    expect(problemsOf({ ...STORES, RECEIPT_BODIES_ONLINE: '90d' })).toHaveLength(1);
    const archived = { ...STORES, RECEIPT_ARCHIVE: 'archive' };
    expect(loadConfig({ ...archived, RECEIPT_BODIES_ONLINE: '90d' }).receiptBodiesOnline).toBe(90);
    for (const days of ['90', '29d', '3m']) {
      expect(problemsOf({ ...archived, RECEIPT_BODIES_ONLINE: days })).toHaveLength(1);
    }
  });

  it('parses lists and replica counts', () => {
    const config = loadConfig({ ...STORES, REGIONS: 'eu-west, eu-north', REPLICAS: 'api=2' });
    expect(config.regions).toEqual(['eu-west', 'eu-north']);
    expect(config.replicas).toEqual({ api: 2 });
    expect(problemsOf({ ...STORES, REPLICAS: 'apis=2' })).toHaveLength(1);
    expect(problemsOf({ ...STORES, REGIONS: 'eu-west,,eu-north' })).toHaveLength(1);
    const origins = ['https://chat.example', 'http://localhost:3000', 'app://obsidian.md'];
    expect(loadConfig({ ...STORES, CORS_ORIGINS: origins.join(', ') }).corsOrigins).toEqual(
      origins,
    );
    for (const unsent of [
      '*',
      'null',
      'https://a.example/',
      'https://a.example:443',
      'chat.example',
      'HTTPS://a.example',
    ]) {
      expect(problemsOf({ ...STORES, CORS_ORIGINS: unsent })).toHaveLength(1);
    }
  });

  it('takes a public address of which every reader of receipts makes the same identifiers, and no other', () => {
    for (const good of [
      'https://a.example',
      'http://127.0.0.1:1',
      'https://[::1]:8443/in/a%20b',
      'https://a.example/x_y/~z/',
    ])
      expect(problemsOf({ ...STORES, PUBLIC_URL: good }), good).toEqual([]);
    for (const bad of [
      'https://a.example/x//y',
      'https://a.example//x',
      'https://a.example/x|y',
      'https://a.example/x:y',
      'https://a*b.example',
    ])
      expect(problemsOf({ ...STORES, PUBLIC_URL: bad }), bad).toHaveLength(1);
  });

  it('takes contracts for electricity as region, factor in its one spelling, and words', () => {
    const config = loadConfig({
      ...STORES,
      ELECTRICITY_CONTRACTS: 'eu-west=0.0120 wind farm, contract of 2026; eu-north=0.0 guarantees',
    });
    expect(config.electricityContracts).toEqual([
      { region: 'eu-west', kgCo2ePerKwh: '0.012', name: 'wind farm, contract of 2026' },
      { region: 'eu-north', kgCo2ePerKwh: '0', name: 'guarantees' },
    ]);
    expect(loadConfig(STORES).electricityContracts).toEqual([]);
    for (const bad of [
      'eu-west',
      'eu-west=0.1',
      'eu-west=-1 x',
      'eu-west=1e3 x',
      'a=0 x; a=1 y',
      // Nothing of it would show, and a pack with it is refused.
      'a=0 \u{2800}\u{200b}',
    ]) {
      expect(problemsOf({ ...STORES, ELECTRICITY_CONTRACTS: bad }), bad).toHaveLength(1);
    }
  });

  it('takes witnesses as a verifier key and an address each', () => {
    const key = `witness.example/w1+0123abcd+${'A'.repeat(44)}`;
    const mlDsa = `witness.example/w2+0123abcd+${'A'.repeat(1_751)}=`;
    const witnesses = [`${key} https://witness.example/submit`, `${mlDsa} http://127.0.0.1:1/w`];
    expect(loadConfig({ ...STORES, WITNESSES: witnesses.join(', ') }).witnesses).toEqual(witnesses);
    for (const bad of [key, 'https://witness.example', `${key} ftp://w.example`, `${key},`]) {
      expect(problemsOf({ ...STORES, WITNESSES: bad }), bad).toHaveLength(1);
    }
  });

  it('takes the nodes of a Redis cluster, each of them checked', () => {
    const nodes = 'redis://10.0.0.1:6379,redis://10.0.0.2:6379';
    expect(loadConfig({ ...STORES, REDIS_URL: nodes }).secrets.redisUrl).toBe(nodes);
    expect(problemsOf({ ...STORES, REDIS_URL: 'redis://a:1,http://b:2' })).toHaveLength(1);
    expect(problemsOf({ ...STORES, REDIS_URL: 'redis://a:1,' })).toHaveLength(1);
  });

  it('makes defaults from the settings they depend on', () => {
    const config = loadConfig({ ...STORES, DOCKET_DATA_DIR: '/srv/docket', HOST: '127.0.0.1' });
    expect(config.signingKeysDir).toBe('/srv/docket/signing-keys');
    expect(config.metricsHost).toBe('127.0.0.1');
  });

  it('is frozen', () => {
    const config = loadConfig(STORES);
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.secrets)).toBe(true);
  });

  it('bounds every number: out of range or not a number is refused, never clipped', () => {
    const anything = fc.oneof(fc.string(), fc.double().map(String), fc.bigInt().map(String));
    forAll([anything], (text) => {
      const problems = problemsOf({ ...STORES, SHARDS: text });
      if (problems.length > 0) return;
      const { shards } = loadConfig({ ...STORES, SHARDS: text });
      expect(Number.isInteger(shards) && shards >= 1 && shards <= 1_024).toBe(true);
    });
  });
});

describe('credentials in the configuration', () => {
  const env = { ...STORES, OPENAI_API_KEY: 'sk-hunter2', AWS_ACCESS_KEY_ID: 'hunter2' };

  it('never appear when the configuration is printed, serialised, spread or refused', () => {
    const config = loadToolConfig({ ...STORES, OPENAI_API_KEY: 'sk-hunter2' });
    const shown = [
      inspect(config, { depth: 9 }),
      JSON.stringify({ ...config }),
      JSON.stringify({ ...config.secrets }),
      problemsOf({ ...STORES, DATABASE_URL: 'http://docket:hunter2@db' }).join(),
    ];
    for (const text of shown) expect(text).not.toContain('hunter2');
  });

  it('are masked in the report of the doctor, which still tells the host', () => {
    const reports = describeSettings(env);
    expect(JSON.stringify(reports)).not.toContain('hunter2');
    const database = reports.find(({ name }) => name === 'DATABASE_URL');
    expect(database).toMatchObject({ source: 'environment', problem: null });
    expect(database?.value).toContain('db.internal');
  });

  it('are read for upstreams under the names that the catalogue gives', () => {
    const config = loadToolConfig({ OPENAI_API_KEY: 'sk-x', EMPTY: '' });
    expect(config.upstreamCredential('OPENAI_API_KEY')).toBe('sk-x');
    expect(config.upstreamCredential('EMPTY')).toBeUndefined();
  });
});

describe('secrets in files', () => {
  const { DATABASE_URL: _, ...rest } = STORES;
  let directory: string;

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'docket-config-'));
    writeFileSync(join(directory, 'url'), `${STORES.DATABASE_URL}\n`);
    writeFileSync(join(directory, 'empty'), '\n');
    return () => rmSync(directory, { recursive: true });
  });

  const inFile = (name: string) => ({ ...rest, DATABASE_URL_FILE: join(directory, name) });

  it('are read from the file that <NAME>_FILE names, without its line end', () => {
    expect(loadConfig(inFile('url')).secrets.databaseUrl).toBe(STORES.DATABASE_URL);
    const { upstreamCredential } = loadToolConfig({ SOME_KEY_FILE: join(directory, 'url') });
    expect(upstreamCredential('SOME_KEY')).toBe(STORES.DATABASE_URL);
  });

  it.each([
    ['a file that is not there', () => inFile('none'), /^DATABASE_URL cannot be read .*ENOENT/],
    ['an empty one', () => inFile('empty'), /^DATABASE_URL is in an empty file/],
    ['a variable beside the file', () => ({ ...inFile('url'), ...STORES }), /both set/],
  ])('are refused, and named once, of %s', (_what, env, problem) => {
    expect(problemsOf(env())).toEqual([expect.stringMatching(problem)]);
    const report = describeSettings(env()).find(({ name }) => name === 'DATABASE_URL');
    expect(report).toMatchObject({ source: 'file', problem: expect.stringMatching(/./) as string });
  });

  it('are masked in the report of the doctor, which tells that they are from a file', () => {
    const report = describeSettings(inFile('url')).find(({ name }) => name === 'DATABASE_URL');
    expect(report).toMatchObject({ source: 'file', problem: null });
    expect(JSON.stringify(report)).not.toContain('hunter2');
  });

  it('are no way to hand over what is no secret', () => {
    expect(loadConfig({ ...STORES, PORT_FILE: join(directory, 'url') }).port).toBe(8_080);
  });
});

describe('the doctor’s report of settings', () => {
  it('tells where each value came from and what is wrong with it, without throwing', () => {
    const reports = describeSettings({ PORT: '70000', SMTP_URL: '' });
    const byName = new Map(reports.map((report) => [report.name, report]));
    expect(byName.get('PORT')).toMatchObject({ source: 'environment', value: '70000' });
    expect(byName.get('PORT')?.problem).toMatch(/65535/);
    expect(byName.get('SHARDS')).toMatchObject({ source: 'default', value: '1', problem: null });
    expect(byName.get('SMTP_URL')).toMatchObject({ source: 'unset', value: '' });
  });
});
