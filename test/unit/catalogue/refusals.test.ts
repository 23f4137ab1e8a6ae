import { describe, expect, it } from 'vitest';
import { loadCatalogue } from '#shared/catalogue/files/load.ts';
import { changed, GOOD, problems, sources } from './files.ts';

const ENDPOINT = '    regions: [eu-west, eu-north]\n';
const METERED = "    meter: { url: 'http://m/metrics', labels: { gpu: '0' } }\n";

describe('a bad catalogue', () => {
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
      'an alias that is the name of a model',
      changed(
        '    context_window: 8192',
        '    context_window: 8192\n    aliases: [other, acme/llama]',
      ),
      'catalogue.yaml:16: models[0].aliases[1]: acme/llama is the name of a model already',
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
      'a provider that does not exist',
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
      'a meter beside stated energy, which would count it twice',
      changed(
        ENDPOINT,
        `${ENDPOINT}    energy: { header: x-energy }\n    meter: { url: 'http://m/metrics' }\n`,
      ),
      'catalogue.yaml:13: endpoints[0].meter: stands beside `energy`; keep one',
    ],
    [
      'meters that may select the same accelerators',
      changed(
        ENDPOINT,
        `${ENDPOINT}${METERED}  - name: other\n    adapter: openai-compatible\n    base_url: http://o/v1\n    regions: [eu-west]\n${METERED.replace('gpu:', 'Hostname:')}`,
      ),
      'catalogue.yaml:17: endpoints[1].meter: the accelerators of local are selected too; tell them apart by `labels`',
    ],
    [
      'a JSON path to several values',
      changed(ENDPOINT, `${ENDPOINT}    energy: { json_path: '$..joules' }\n`),
      'catalogue.yaml:12: endpoints[0].energy.json_path: must be a JSON path to one value, such as $.usage.energy.joules',
    ],
    [
      'stated energy without a place',
      changed(ENDPOINT, `${ENDPOINT}    energy: { unit: mJ }\n`),
      'catalogue.yaml:12: endpoints[0].energy: says no place: `header`, `usage_field` or `json_path`',
    ],
    [
      'no regions at all',
      'version: 1\nregions: []\nendpoints: []\nmodels: []\n',
      'catalogue.yaml:2: regions: must NOT have fewer than 1 items',
    ],
    ['an empty file', '', 'catalogue.yaml:1: must be a set of fields'],
    ['a list', '- 1\n', 'catalogue.yaml:1: must be a set of fields'],
  ])('is refused for %s', (_why, text, problem) => {
    expect(problems(text)).toContain(problem);
  });

  it('is refused for broken YAML, with the line', () => {
    expect(problems(changed('    zone: FRA', '  zone: FRA'))[0]).toMatch(/^catalogue\.yaml:4: /);
    expect(problems(changed('zone: FRA', 'zone: "FRA'))[0]).toMatch(/^catalogue\.yaml:\d+: /);
  });

  it('is refused for a field written twice; neither value is taken', () => {
    expect(problems(changed('    zone: FRA\n', '    zone: FRA\n    zone: SWE\n'))).toEqual([
      'catalogue.yaml:5: Map keys must be unique',
    ]);
  });

  it('is refused for bytes that are not UTF-8', () => {
    expect(problems(Uint8Array.of(0xff))).toEqual([
      'catalogue.yaml:1: the file is not valid UTF-8',
    ]);
  });

  it('is refused for aliases that would grow without bound', () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i},`.repeat(9)}]`,
    );
    expect(problems(`l0: &l0 [x]\n${levels.join('\n')}\n`)[0]).toContain('alias');
  });

  it('is refused when its file is missing', () => {
    expect(() => loadCatalogue('/nowhere/catalogue.yaml', sources())).toThrow(
      '/nowhere/catalogue.yaml:1: the file cannot be read: ENOENT',
    );
  });

  it('is refused with all its problems at once, in the order of the file', () => {
    const text = changed('zone: FRA', 'zone: ATL')
      .replace('[eu-west, eu-north]', '[eu-south]')
      .replace('{ name: local,', '{ name: remote,');
    expect(problems(text)).toEqual([
      'catalogue.yaml:4: regions[0].zone: the factor set has no grid zone ATL',
      'catalogue.yaml:11: endpoints[0].regions[0]: there is no region eu-south',
      'catalogue.yaml:17: models[0].endpoints[0].name: there is no endpoint remote',
    ]);
  });

  it('is refused without repeating a credential that was written where a name belongs', () => {
    const inUrl = problems(changed('http://127', 'http://user:s3cret@127'));
    const inEnv = problems(changed('base_url:', 'api_key_env: sk-s3cret\n    base_url:'));
    expect(inUrl[0]).toContain('must not hold a credential');
    expect(inEnv[0]).toContain('the NAME of the environment variable');
    expect([...inUrl, ...inEnv].join()).not.toContain('s3cret');
  });
});
