import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE, loadCatalogue } from '#shared/catalogue/files/load.ts';
import { changed, GOOD, parse, problems } from './files.ts';

describe('a good catalogue', () => {
  it('becomes a catalogue with the documented values for fields that it leaves out', () => {
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
          timeoutMs: 90_000,
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

  it('is the shipped one, checked against the shipped factor set', () => {
    const factors = JSON.parse(
      readFileSync(
        new URL('../../../shared/methodology/factors/2026-10.json', import.meta.url),
        'utf8',
      ),
    ) as { models: { id: string }[] };
    const { catalogue, warnings } = loadCatalogue(DEFAULT_CATALOGUE, {
      variable: (name) => (name === 'SANDBOX_URL' ? 'http://127.0.0.1:9/v1' : undefined),
      timeoutMs: 90_000,
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

describe('environment variables in a catalogue', () => {
  it('are put in for ${NAME}, more than one in a value', () => {
    const text = changed('http://127.0.0.1:8000/v1/', 'http://${HOST_NAME}:${PORT_1}/v1');
    expect(parse(text, { HOST_NAME: 'vllm', PORT_1: '8000' }).catalogue.endpoints[0]?.baseUrl).toBe(
      'http://vllm:8000/v1',
    );
  });

  it('are numbers where they have no quotes', () => {
    expect(
      parse(changed('8192', '${WINDOW}'), { WINDOW: '4096' }).catalogue.models[0]?.contextWindow,
    ).toBe(4096);
    expect(problems(changed('8192', '"${WINDOW}"'), { WINDOW: '4096' })[0]).toContain(
      'must be an integer',
    );
  });

  it('are refused with their line when they are not set', () => {
    expect(problems(changed('http://127.0.0.1:8000/v1/', '${UPSTREAM}'))).toEqual([
      'catalogue.yaml:10: the environment variable UPSTREAM is not set',
    ]);
  });

  it('are refused in another notation than ${NAME}, not passed on', () => {
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

describe('warnings of a catalogue', () => {
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

  it('name a model whose every region is decommissioned', () => {
    const text = changed('zone: FRA', 'zone: FRA\n    status: decommissioned').replace(
      ', eu-north]',
      ']',
    );
    expect(parse(text).warnings.map((warning) => warning.message)).toEqual([
      'every region of the model acme/llama is decommissioned',
    ]);
  });
});
