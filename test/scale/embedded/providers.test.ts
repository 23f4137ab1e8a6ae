import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogueText } from '#embedded/providers/catalogue-text.ts';
import { localProviders, providersIn } from '#embedded/providers/in-environment.ts';
import { askProviders, type Offer } from '#embedded/providers/offer.ts';
import { PROVIDERS } from '#embedded/providers/table.ts';
import { DEFAULT_CATALOGUE } from '#shared/catalogue/files/load.ts';
import { NATIVE_PROVIDERS } from '#shared/catalogue/http/native-providers.ts';
import { parseCatalogue } from '#shared/catalogue/parse.ts';
import { PROVIDER_NAMES } from '#shared/config/settings.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { referencesIn } from '#shared/methodology/known-references.ts';
import { NotingUpstream } from '#test/support/noting-upstream.ts';

const EXAMPLES = join(import.meta.dirname, '../../../docs/catalogue');
const factors = newestFactorSet();
const known = { ...referencesIn(factors), providers: new Set(Object.keys(NATIVE_PROVIDERS)) };
const parse = (text: string, variables: Record<string, string> = {}) =>
  parseCatalogue(Buffer.from(text), 'catalogue.yaml', {
    variable: (name) => variables[name],
    timeoutMs: 1_000,
    known,
  });
const found = (env: Record<string, string>) => providersIn((name) => env[name]);

describe('the table of providers', () => {
  it('has a row for each name of the setting, in its order', () => {
    expect(PROVIDERS.map(({ name }) => name)).toEqual(PROVIDER_NAMES);
  });

  it.each(PROVIDERS)(
    '$title has an example that is a catalogue, at its documented address',
    (row) => {
      const text = readFileSync(join(EXAMPLES, `${row.name}.yaml`), 'utf8');
      const variables = {
        [row.keyVariable ?? '']: 'set',
        AZURE_API_BASE: 'https://acme.openai.azure.com',
      };
      const { catalogue, warnings } = parse(text, variables);
      expect(warnings).toEqual([]);
      expect(catalogue.endpoints).toHaveLength(1);
      expect(catalogue.endpoints[0]).toMatchObject({
        name: row.name,
        adapter: row.adapter,
        baseUrl: row.baseUrl ?? row.localUrl ?? 'https://acme.openai.azure.com/openai/v1',
        ...(row.provider === undefined ? {} : { provider: row.provider }),
        ...(row.keyVariable === undefined ? {} : { apiKeyEnv: row.keyVariable }),
      });
      expect(catalogue.models.length).toBeGreaterThan(0);
    },
  );

  it('has no example of a provider that it does not know', () => {
    const names: string[] = PROVIDERS.map(({ name }) => `${name}.yaml`);
    expect(readdirSync(EXAMPLES).toSorted()).toEqual(names.toSorted());
  });
});

describe('providers in the environment', () => {
  it('are those of whom a key, or the address of a server without one, is there', () => {
    expect(found({})).toEqual([]);
    const env = { ANTHROPIC_API_KEY: 'a', OLLAMA_BASE_URL: 'http://127.0.0.1:11434/v1/' };
    expect(found(env)).toMatchObject([
      { row: { name: 'anthropic' }, baseUrl: 'https://api.anthropic.com/v1' },
      { row: { name: 'ollama' }, baseUrl: 'http://127.0.0.1:11434/v1', keyVariable: undefined },
    ]);
  });

  it('are called where OPENAI_BASE_URL says, with a key or without', () => {
    const OPENAI_BASE_URL = 'https://llm.example/v1';
    expect(found({ OPENAI_BASE_URL })).toMatchObject([
      { baseUrl: OPENAI_BASE_URL, keyVariable: undefined },
    ]);
    expect(found({ OPENAI_BASE_URL, OPENAI_API_KEY: 'a' })).toMatchObject([
      { baseUrl: OPENAI_BASE_URL, keyVariable: 'OPENAI_API_KEY' },
    ]);
  });

  it('get the version of their interface where an address lacks it, and that is said', () => {
    const [ollama] = found({ OLLAMA_BASE_URL: 'http://127.0.0.1:11434' });
    expect(ollama).toMatchObject({
      baseUrl: 'http://127.0.0.1:11434/v1',
      note: 'OLLAMA_BASE_URL has no version: /v1 is added',
    });
    const azure = { AZURE_API_KEY: 'a', AZURE_API_BASE: 'https://acme.openai.azure.com/' };
    expect(found(azure)).toMatchObject([{ baseUrl: 'https://acme.openai.azure.com/openai/v1' }]);
  });

  it('are refused without a word of an address that may hold a credential, or with half of what they need', () => {
    const problems = [
      { OPENAI_BASE_URL: 'https://user:hush@h/v1' },
      { OPENAI_BASE_URL: 'https://h/v1?key=hush' },
      { OPENAI_BASE_URL: 'file:///etc/hush' },
      { OPENAI_BASE_URL: 'https://h/v1/chat/completions' },
      { AZURE_API_KEY: 'hush' },
      { AZURE_API_BASE: 'https://h/openai/v1' },
    ].map((env) => found(env)[0]!);
    for (const one of problems) {
      expect(one).toHaveProperty('problem', expect.not.stringContaining('hush'));
      expect(one).not.toHaveProperty('baseUrl');
    }
  });

  it('are looked for on this machine only where nothing is configured', () => {
    expect(localProviders(() => undefined).map(({ row }) => row.name)).toEqual(['ollama', 'vllm']);
    const env: Record<string, string> = { VLLM_BASE_URL: 'http://gpu:8000/v1' };
    expect(localProviders((name) => env[name]).map(({ row }) => row.name)).toEqual(['ollama']);
  });
});

/** A server with this list of models. */
class Listing extends NotingUpstream {
  protected override answerTo(): void {}
}

async function offered(list: string, status = 200) {
  const upstream = new Listing();
  upstream.list = { status, text: list };
  const env: Record<string, string> = {
    OPENAI_BASE_URL: `${await upstream.listen()}/v1`,
    OPENAI_API_KEY: 'sk-hush',
  };
  const credential = (name: string): string | undefined => env[name];
  const offers = await askProviders(providersIn(credential), {
    credential,
    factors,
    timeoutMs: 5_000,
  });
  upstream.close();
  return offers;
}

const listOf = (...ids: string[]): string => JSON.stringify({ data: ids.map((id) => ({ id })) });

describe('what a provider lists', () => {
  it('is offered by kind, without what takes or gives no text', async () => {
    const { offers } = await offered(
      listOf(
        'gpt-4o',
        'gpt-4o',
        'whisper-1',
        'tts-1',
        'dall-e-3',
        'text-embedding-3-small',
        'davinci-002',
      ),
    );
    expect(offers[0]!.models.map(({ id, kinds }) => [id, ...kinds])).toEqual([
      ['gpt-4o', 'chat'],
      ['text-embedding-3-small', 'embedding'],
      ['davinci-002', 'completion'],
    ]);
  });

  it('brings no variable of the environment, no YAML and no endless list into the catalogue', async () => {
    const many = Array.from({ length: 3_000 }, (_, n) => `m-${n}`);
    const hostile = [
      '${DATABASE_URL}',
      'a\n- b',
      'x: {y}',
      '',
      '#',
      'a b',
      '../../etc',
      'a'.repeat(300),
    ];
    const { offers } = await offered(listOf(...hostile, ...many));
    expect(offers[0]!.models).toHaveLength(400);
    const { catalogue } = parse(catalogueText(offers, { title: 'T' }), { OPENAI_API_KEY: 'a' });
    expect(catalogue.models.map(({ id }) => id)).toEqual(many.slice(0, 400));
  });

  it.each([
    ['{"data":"none"}', 200, /lists no model/],
    ['<html>', 200, /lists no model/],
    [
      '{"error":{"message":"Incorrect API key provided: sk-hush"}}',
      401,
      /refuses the credential; is OPENAI_API_KEY set/,
    ],
    ['oops sk-hush', 500, /^OpenAI: 500/],
  ])(
    'leaves a provider out that answers %s, in a line without its key',
    async (text, status, line) => {
      const { offers, lines } = await offered(text, status);
      expect(offers).toEqual([]);
      expect(lines).toEqual([expect.stringMatching(line)]);
      expect(lines[0]).not.toContain('hush');
    },
  );
});

describe('a catalogue of what providers offer', () => {
  const offerOf = (name: string, ...ids: string[]): Offer => ({
    row: PROVIDERS.find((row) => row.name === name)!,
    baseUrl: `https://${name}.example/v1`,
    keyVariable: undefined,
    models: ids.map((id) => ({
      id,
      kinds: ['chat'],
      footprint: { ref: 'class:large', basis: 'size-unknown' },
    })),
  });

  it('keeps the models of the shipped one, and gives those of the same name the provider’s in front', () => {
    const base = readFileSync(DEFAULT_CATALOGUE, 'utf8');
    const offers = [offerOf('groq', 'llama-3.1-8b', 'shared'), offerOf('vllm', 'shared')];
    const text = catalogueText(offers, { base, plans: ['enterprise'], title: 'T' });
    const { catalogue } = parse(text, { SANDBOX_URL: 'http://127.0.0.1:1/v1' });
    const shipped = parse(base, { SANDBOX_URL: 'http://127.0.0.1:1/v1' }).catalogue;
    expect(catalogue.models.slice(0, shipped.models.length)).toEqual(shipped.models);
    expect(catalogue.regions.slice(0, shipped.regions.length)).toEqual(shipped.regions);
    const added = catalogue.models.slice(shipped.models.length);
    expect(added.map(({ id, plans, endpoints }) => [id, plans, endpoints])).toEqual([
      ['groq/llama-3.1-8b', ['enterprise'], [{ name: 'groq', model: 'llama-3.1-8b' }]],
      ['shared', ['enterprise'], [{ name: 'groq', model: 'shared' }]],
      ['vllm/shared', ['enterprise'], [{ name: 'vllm', model: 'shared' }]],
    ]);
  });

  it('says that a footprint is of the closest class, and that a server elsewhere is not the provider’s', () => {
    const text = catalogueText([offerOf('openai', 'acme')], { title: 'T' });
    expect(text).toContain(
      'footprint: { ref: class:large } # its size is not known: the closest class',
    );
    const { catalogue } = parse(text);
    expect(catalogue.regions[0]!.operator).toEqual({ name: 'unknown' });
    expect(catalogue.endpoints[0]!.responses).toBeUndefined();
  });
});
