import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_CATALOGUE,
  loadCatalogue,
  parseCatalogue,
} from '../../../shared/catalogue/load.ts';
import type { CatalogueSources } from '../../../shared/catalogue/load.ts';
import { CatalogueError } from '../../../shared/catalogue/problem.ts';

const GOOD = `version: 1
regions:
  - code: eu-west
    zone: FRA
  - code: eu-north
    zone: SWE
endpoints:
  - name: local
    adapter: openai-compatible
    base_url: http://127.0.0.1:8000/v1/
    regions: [eu-west, eu-north]
models:
  - id: acme/llama
    kinds: [chat]
    context_window: 8192
    endpoints:
      - { name: local, model: llama }
    footprint: { active_b: 8, total_b: 8 }
`;

const known = {
  zones: new Set(['FRA', 'SWE']),
  models: new Set(['llama-3.1-8b']),
  providers: new Set(['anthropic']),
};
const sources = (variables: Record<string, string> = {}): CatalogueSources => ({
  variable: (name) => variables[name],
  known,
});

const parse = (text: string | Uint8Array, variables?: Record<string, string>) =>
  parseCatalogue(Buffer.from(text as string), 'catalogue.yaml', sources(variables));

/** The lines of the refusal, as an operator sees them. */
function problems(text: string | Uint8Array, variables?: Record<string, string>): string[] {
  try {
    parse(text, variables);
  } catch (error) {
    if (error instanceof CatalogueError) return error.message.split('\n');
    throw error;
  }
  throw new Error('was accepted');
}

/** The good file with one piece of its text replaced. */
const changed = (from: string, to: string): string => {
  expect(GOOD).toContain(from);
  return GOOD.replace(from, to);
};

describe('a good catalogue', () => {
  it('becomes the domain’s catalogue, with the documented values for what it leaves out', () => {
    const { catalogue, warnings } = parse(GOOD);
    expect(warnings).toEqual([]);
    expect(catalogue).toMatchObject({
      version: 1,
      regions: [
        {
          code: 'eu-west',
          name: 'eu-west',
          zone: 'FRA',
          operator: { name: 'unknown' },
          capacity: 2000,
          status: 'normal',
        },
        { code: 'eu-north' },
      ],
      endpoints: [
        {
          name: 'local',
          baseUrl: 'http://127.0.0.1:8000/v1',
          timeoutMs: 120_000,
          regions: ['eu-west', 'eu-north'],
        },
      ],
      models: [
        {
          id: 'acme/llama',
          contextWindow: 8192,
          modalities: ['text'],
          maxN: 1,
          ownedBy: 'acme',
          created: 0,
          footprint: { activeB: 8, totalB: 8 },
        },
      ],
    });
    expect(catalogue.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is the one that is shipped, checked against the factor set that is shipped', () => {
    const factors = JSON.parse(
      readFileSync(
        new URL('../../../shared/methodology/factors/2026-10.json', import.meta.url),
        'utf8',
      ),
    ) as { models: { id: string }[] };
    const { catalogue, warnings } = loadCatalogue(DEFAULT_CATALOGUE, {
      variable: (name) => (name === 'SANDBOX_URL' ? 'http://127.0.0.1:9/v1' : undefined),
      known: { models: new Set(factors.models.map((model) => model.id)) },
    });
    expect(warnings).toEqual([]);
    expect(catalogue.models.length).toBeGreaterThan(3);
    expect(catalogue.endpoints[0]?.energy).toEqual({
      header: 'x-energy-joules',
      usageField: 'energy_joules',
    });
  });
});

describe('a bad catalogue is refused', () => {
  it.each<[why: string, text: string, problem: string]>([
    [
      'an unknown field, with the field that was probably meant',
      changed('    endpoints:\n', '    endpints:\n'),
      'catalogue.yaml:16: models[0].endpints: unknown field; is `endpoints` meant?',
    ],
    ['an unknown field at the top', `${GOOD}extra: 1\n`, 'catalogue.yaml:19: extra: unknown field'],
    [
      'an unknown field in a nested object',
      changed('total_b: 8 }', 'total_b: 8, magic: 1 }'),
      'catalogue.yaml:18: models[0].footprint.magic: unknown field',
    ],
    [
      'a missing field, at the line of what lacks it',
      changed('    zone: SWE\n', ''),
      'catalogue.yaml:5: regions[1]: `zone` is missing',
    ],
    [
      'a wrong type',
      changed('8192', 'many'),
      'catalogue.yaml:15: models[0].context_window: must be an integer',
    ],
    [
      'a number out of bounds',
      changed('8192', '0'),
      'catalogue.yaml:15: models[0].context_window: must be >= 1',
    ],
    [
      'a word that is not on the list',
      changed('kinds: [chat]', 'kinds: [chat, poem]'),
      'catalogue.yaml:14: models[0].kinds[1]: must be one of chat, completion, embedding',
    ],
    [
      'another version',
      changed('version: 1', 'version: 2'),
      'catalogue.yaml:1: version: must be 1',
    ],
    [
      'half a size',
      changed('active_b: 8, ', ''),
      'catalogue.yaml:18: models[0].footprint: `total_b` needs `active_b` beside it',
    ],
    [
      'a name that would not fit in a key',
      changed('code: eu-west', 'code: EU West'),
      'catalogue.yaml:3: regions[0].code: must be 1 to 64 lower-case letters, digits, dots, hyphens and underscores, starting with a letter or digit',
    ],
    [
      'a region that does not exist',
      changed('[eu-west, eu-north]', '[eu-west, eu-south]'),
      'catalogue.yaml:11: endpoints[0].regions[1]: there is no region eu-south',
    ],
    [
      'an endpoint that does not exist',
      changed('{ name: local,', '{ name: remote,'),
      'catalogue.yaml:17: models[0].endpoints[0].name: there is no endpoint remote',
    ],
    [
      'a code used twice',
      changed('code: eu-north', 'code: eu-west').replace(', eu-north]', ']'),
      'catalogue.yaml:5: regions[1].code: eu-west is used twice',
    ],
    [
      'a zone that the factor set lacks',
      changed('zone: SWE', 'zone: ATL'),
      'catalogue.yaml:6: regions[1].zone: the factor set has no grid zone ATL',
    ],
    [
      'a footprint record that the factor set lacks',
      changed('active_b: 8, total_b: 8', 'ref: llama-9'),
      'catalogue.yaml:18: models[0].footprint.ref: the factor set has no model llama-9',
    ],
    [
      'a record and a size',
      changed('active_b: 8,', 'ref: llama-3.1-8b, active_b: 8,'),
      'catalogue.yaml:18: models[0].footprint: has both `ref` and a declared size; keep one',
    ],
    [
      'more active than total parameters',
      changed('active_b: 8', 'active_b: 9'),
      'catalogue.yaml:18: models[0].footprint.active_b: must not be more than `total_b`',
    ],
    [
      'ai-sdk without a provider',
      changed('openai-compatible', 'ai-sdk'),
      'catalogue.yaml:8: endpoints[0]: the adapter ai-sdk needs a `provider`',
    ],
    [
      'a provider that nobody knows',
      changed('openai-compatible', 'ai-sdk\n    provider: acme'),
      'catalogue.yaml:10: endpoints[0].provider: there is no provider acme; there are anthropic',
    ],
    [
      'a provider where there are none',
      changed('openai-compatible', 'openai-compatible\n    provider: anthropic'),
      'catalogue.yaml:10: endpoints[0].provider: the adapter openai-compatible has no providers',
    ],
    [
      'a url of another protocol',
      changed('http://127.0.0.1:8000/v1/', 'file:///etc/passwd'),
      'catalogue.yaml:10: endpoints[0].base_url: must be an http or https url',
    ],
    [
      'no regions at all',
      'version: 1\nregions: []\nendpoints: []\nmodels: []\n',
      'catalogue.yaml:2: regions: must NOT have fewer than 1 items',
    ],
    ['an empty file', '', 'catalogue.yaml:1: must be a set of fields'],
    ['a list', '- 1\n', 'catalogue.yaml:1: must be a set of fields'],
  ])('for %s', (_why, text, problem) => {
    expect(problems(text)).toContain(problem);
  });

  it('for broken YAML, with the line', () => {
    expect(problems(changed('    zone: FRA', '  zone: FRA'))[0]).toMatch(/^catalogue\.yaml:4: /);
    expect(problems(changed('zone: FRA', 'zone: "FRA'))[0]).toMatch(/^catalogue\.yaml:\d+: /);
  });

  it('for a field written twice, instead of taking one of them', () => {
    expect(problems(changed('    zone: FRA\n', '    zone: FRA\n    zone: SWE\n'))).toEqual([
      'catalogue.yaml:5: Map keys must be unique',
    ]);
  });

  it('for bytes that are not UTF-8', () => {
    expect(problems(Uint8Array.of(0xff))).toEqual([
      'catalogue.yaml:1: the file is not valid UTF-8',
    ]);
  });

  it('for aliases that would grow without bound', () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i},`.repeat(9)}]`,
    );
    expect(problems(`l0: &l0 [x]\n${levels.join('\n')}\n`)[0]).toContain('alias');
  });

  it('for a file that is not there', () => {
    expect(() => loadCatalogue('/nowhere/catalogue.yaml', sources())).toThrow(
      '/nowhere/catalogue.yaml:1: the file cannot be read: ENOENT',
    );
  });

  it('with everything that is wrong at once, in the order of the file', () => {
    const text = changed('zone: FRA', 'zone: ATL')
      .replace('[eu-west, eu-north]', '[eu-south]')
      .replace('{ name: local,', '{ name: remote,');
    expect(problems(text)).toEqual([
      'catalogue.yaml:4: regions[0].zone: the factor set has no grid zone ATL',
      'catalogue.yaml:11: endpoints[0].regions[0]: there is no region eu-south',
      'catalogue.yaml:17: models[0].endpoints[0].name: there is no endpoint remote',
    ]);
  });

  it('without repeating a credential that was written where a name belongs', () => {
    const inUrl = problems(changed('http://127', 'http://user:s3cret@127'));
    const inEnv = problems(changed('base_url:', 'api_key_env: sk-s3cret\n    base_url:'));
    expect(inUrl[0]).toContain('must not hold a credential');
    expect(inEnv[0]).toContain('the NAME of the environment variable');
    expect([...inUrl, ...inEnv].join()).not.toContain('s3cret');
  });
});

describe('environment variables', () => {
  it('are put in for ${NAME}, more than one in a value', () => {
    const text = changed('http://127.0.0.1:8000/v1/', 'http://${HOST_NAME}:${PORT_1}/v1');
    expect(parse(text, { HOST_NAME: 'vllm', PORT_1: '8000' }).catalogue.endpoints[0]?.baseUrl).toBe(
      'http://vllm:8000/v1',
    );
  });

  it('are numbers where they stand without quotes', () => {
    expect(
      parse(changed('8192', '${WINDOW}'), { WINDOW: '4096' }).catalogue.models[0]?.contextWindow,
    ).toBe(4096);
    expect(problems(changed('8192', '"${WINDOW}"'), { WINDOW: '4096' })[0]).toContain(
      'must be an integer',
    );
  });

  it('that are not set are refused with their line', () => {
    expect(problems(changed('http://127.0.0.1:8000/v1/', '${UPSTREAM}'))).toEqual([
      'catalogue.yaml:10: the environment variable UPSTREAM is not set',
    ]);
  });

  it('in another notation are refused, not passed on', () => {
    expect(problems(changed('http://127.0.0.1:8000/v1/', '${UPSTREAM:-x}'))[0]).toContain(
      'only ${NAME} is replaced',
    );
  });

  it('cannot add fields: a value stays a value', () => {
    const text = changed('http://127.0.0.1:8000/v1/', '${UPSTREAM}');
    const { catalogue } = parse(text, { UPSTREAM: 'http://h/v1\n    provider: x' });
    expect(catalogue.endpoints[0]).not.toHaveProperty('provider');
  });
});

describe('warnings', () => {
  it('name what works and is probably not meant', () => {
    const text = changed(
      'models:\n',
      `  - name: idle\n    adapter: openai-compatible\n    base_url: http://h/v1\n    api_key_env: IDLE_KEY\n    regions: [eu-west]\nmodels:\n`,
    );
    expect(parse(text).warnings).toEqual([
      { line: 12, path: 'endpoints[1]', message: 'no model uses the endpoint idle' },
      {
        line: 15,
        path: 'endpoints[1].api_key_env',
        message: 'the environment variable IDLE_KEY is not set',
      },
    ]);
  });

  it('tell of a model whose every region is gone', () => {
    const text = changed('zone: FRA', 'zone: FRA\n    status: decommissioned').replace(
      ', eu-north]',
      ']',
    );
    expect(parse(text).warnings.map((warning) => warning.message)).toEqual([
      'every region of the model acme/llama is decommissioned',
    ]);
  });
});
