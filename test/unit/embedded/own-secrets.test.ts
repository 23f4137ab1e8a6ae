import { describe, expect, it } from 'vitest';
import { withOwnSecrets, withoutSecrets } from '#embedded/launcher/own-secrets.ts';
import type { Catalogue, Endpoint, Meter } from '#shared/catalogue/catalogue.ts';

const endpoint = { name: 'e', adapter: 'openai-compatible', baseUrl: 'http://h/v1' } as const;
const endpoints: Partial<Endpoint>[] = [
  { ...endpoint, apiKeyEnv: 'OPENAI_API_KEY' },
  { ...endpoint, apiKeyEnv: 'OWN_KEY', meter: { tokenEnv: 'METER_TOKEN' } as Meter },
  { ...endpoint, apiKeyEnv: 'SANDBOX_API_KEY' },
];
const catalogue = { endpoints } as unknown as Catalogue;
/** For the processes of a request, which send traces. */
const OF_COLLECTOR = { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=of-the-collector' };
const env = {
  PATH: '/bin',
  OPENAI_API_KEY: 'named',
  OWN_KEY_FILE: '/run/own',
  GROQ_API_KEY: 'left out',
  METER_TOKEN: 'metered',
  SANDBOX_API_KEY: 'ours',
  SESSION_SECRET: 'signs',
  SESSION_SECRET_OLDER_FILE: '/run/signed',
  WEBHOOKS_SECRET: 'seals',
  MODERATION_API_KEY_FILE: '/run/moderation',
  ...OF_COLLECTOR,
  DATABASE_URL: 'postgres://h',
};
/** Those of the variables that are still there. */
const left = (of: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(of).filter(([, text]) => text !== undefined));

describe('the secrets of a process that the launcher starts', () => {
  const options = { catalogue, mayChange: false, background: [] };
  const common = { PATH: '/bin', DATABASE_URL: 'postgres://h' };

  it('an inference worker has the credentials that the catalogue names; others as well where that may change', () => {
    const called = { OPENAI_API_KEY: 'named', OWN_KEY_FILE: '/run/own', SANDBOX_API_KEY: 'ours' };
    const held = { ...common, ...called, ...OF_COLLECTOR, METER_TOKEN: 'withheld' };
    expect(left(withOwnSecrets(env, 'inference', options))).toEqual(held);
    expect(left(withOwnSecrets(env, 'inference', { ...options, mayChange: true }))).toEqual({
      ...held,
      GROQ_API_KEY: 'left out',
    });
  });

  it('others have none of these, but words in their place; who reads meters has what those ask for, and the api what it signs and asks with', () => {
    const withheld = {
      OPENAI_API_KEY: 'withheld',
      OWN_KEY: 'withheld',
      GROQ_API_KEY: 'withheld',
      SANDBOX_API_KEY: 'withheld',
      METER_TOKEN: 'withheld',
    };
    expect(left(withOwnSecrets(env, 'ledger', options))).toEqual({ ...common, ...withheld });
    expect(left(withOwnSecrets(env, 'recalculation', options))).toEqual({
      ...common,
      ...withheld,
      METER_TOKEN: 'metered',
    });
    const sharing = { ...options, background: ['recalculation' as const] };
    expect(withOwnSecrets(env, 'background', sharing)['METER_TOKEN']).toBe('metered');
    const delivering = { ...options, background: ['housekeeping' as const] };
    expect(withOwnSecrets(env, 'background', delivering)['WEBHOOKS_SECRET']).toBe('seals');
    expect(withOwnSecrets(env, 'housekeeping', options)['WEBHOOKS_SECRET']).toBe('seals');
    expect(left(withOwnSecrets(env, 'api', options))).toEqual({
      ...common,
      ...withheld,
      ...OF_COLLECTOR,
      SESSION_SECRET: 'signs',
      SESSION_SECRET_OLDER_FILE: '/run/signed',
      WEBHOOKS_SECRET: 'seals',
      MODERATION_API_KEY_FILE: '/run/moderation',
    });
  });

  it('what calls no upstream has none at all, nor the address of a store', () => {
    expect(withoutSecrets(env, catalogue)).toEqual({ PATH: '/bin', SANDBOX_API_KEY: 'ours' });
  });
});
