import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE, loadCatalogue } from '#shared/catalogue/files/load.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { referencesIn } from '#shared/methodology/known-references.ts';
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
          maxN: 1,
          ownedBy: 'acme',
          created: 0,
          footprint: { activeB: 8, totalB: 8 },
        },
      ],
    });
    expect(catalogue.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('says how many tools a model takes, where the file does', () => {
    const most = (line: string) =>
      parse(changed('    context_window: 8192', `    context_window: 8192\n${line}`)).catalogue
        .models[0]?.maxTools;
    expect([most('    max_tools: 128'), most('')]).toEqual([128, undefined]);
  });

  it('has the other names by which a model may be asked for, where the file names any', () => {
    const names = (line: string) =>
      parse(changed('    context_window: 8192', `    context_window: 8192\n${line}`)).catalogue
        .models[0]?.aliases;
    expect([names('    aliases: [gpt-4o, a/b]'), names('')]).toEqual([
      ['gpt-4o', 'a/b'],
      undefined,
    ]);
  });

  it('says whether an upstream takes the role `developer`, where the file does', () => {
    const taken = (line: string) =>
      parse(changed('    regions: [eu-west, eu-north]', `    regions: [eu-west]\n${line}`))
        .catalogue.endpoints[0]?.developerRole;
    expect([taken('    developer_role: false'), taken('')]).toEqual([false, undefined]);
  });

  it('says whether an upstream takes back what a model thought, where the file does', () => {
    const taken = (line: string) =>
      parse(changed('    regions: [eu-west, eu-north]', `    regions: [eu-west]\n${line}`))
        .catalogue.endpoints[0]?.reasoningContent;
    expect([taken('    reasoning_content: true'), taken('')]).toEqual([true, undefined]);
  });

  it('says in which header an upstream is told the request id, if in any', () => {
    const headers = (text: string) =>
      parse(
        changed('    regions: [eu-west, eu-north]', `    regions: [eu-west]\n    headers: ${text}`),
      ).catalogue.endpoints[0]?.headers;
    expect(headers('{ request_id: X-Docket-Request }')).toEqual({ requestId: 'x-docket-request' });
    expect(headers('{ request_id: none, traceparent: false }')).toEqual({
      requestId: null,
      traceparent: false,
    });
    expect(
      problems(
        changed(
          '    regions: [eu-west, eu-north]',
          '    regions: [eu-west]\n    headers: { request_id: Authorization }',
        ),
      ),
    ).toEqual([expect.stringContaining('must be a header whose name begins with `x-`')]);
  });

  it('bounds each part of a call by itself, and knows no modalities that it does not name', () => {
    const text = changed(
      '    regions: [eu-west, eu-north]',
      '    regions: [eu-west]\n    timeout_ms: 5000\n    timeouts: { first_byte_ms: 30000, total_ms: 600000 }',
    );
    const { catalogue } = parse(text);
    expect(catalogue.endpoints[0]).toMatchObject({
      timeoutMs: 5_000,
      timeouts: { firstByteMs: 30_000, totalMs: 600_000 },
    });
    expect(catalogue.models[0]).not.toHaveProperty('modalities');
    expect(problems(text.replace('30000', '5')).join()).toContain('timeouts.first_byte_ms');
  });

  it('is the shipped one, checked against the shipped factor set', () => {
    const { catalogue, warnings } = loadCatalogue(DEFAULT_CATALOGUE, {
      variable: (name) => (name === 'SANDBOX_URL' ? 'http://127.0.0.1:9/v1' : undefined),
      timeoutMs: 90_000,
      known: referencesIn(newestFactorSet()),
    });
    expect(warnings).toEqual([]);
    expect(catalogue.models.length).toBeGreaterThan(3);
    // What is not declared is not refused.
    for (const { id, modalities } of catalogue.models) expect(modalities, id).toContain('text');
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
