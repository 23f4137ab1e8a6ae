import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '#shared/keys/credential.ts';
import type { ErrorCode } from '#shared/kernel/error-codes.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { generateKey } from '#shared/keys/format.ts';
import { createRegistries, movableClock, OPERATOR } from '#test/support/accounts.ts';
import { ApiDescription, type Listed } from '#test/support/api-description.ts';
import { chatBody } from '#test/support/calls.ts';
import { type Answer, ask, expectRefusal } from '#test/support/envelope.ts';
import { newOrganisation, type TestOrganisation } from '#test/support/organisations.ts';
import { joinProduct } from '#test/support/product.ts';
import type { Product } from '#test/support/system.ts';

let system: Product;
let api: ApiDescription;
let organisation: TestOrganisation;

beforeAll(async () => {
  system = await joinProduct();
  [api, organisation] = await Promise.all([
    ApiDescription.of(system.root),
    newOrganisation(system),
  ]);
});

const EXAMPLES: Readonly<Record<string, string>> = { id: 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC' };

/** Calls an operation. What is wrong with the key is said before anything else is looked at, so there is no body. */
function call(
  { method, path }: Listed,
  headers: Record<string, string>,
  ids: Readonly<Record<string, string>> = EXAMPLES,
): Promise<Answer> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'x');
  return ask(system.root + filled, { method, headers });
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const keyed = () => api.operations.filter(({ operation }) => operation.security.length > 0);

/** Calls every operation that needs a key, and expects the same refusal of each. */
async function expectOfAll(
  operations: readonly Listed[],
  headers: Record<string, string>,
  code: ErrorCode,
): Promise<void> {
  expect(operations.length).toBeGreaterThan(0);
  for (const listed of operations) {
    const answer = await call(listed, headers);
    expectRefusal(answer, code, { param: null });
    const challenge = answer.headers.get('www-authenticate');
    expect(challenge !== null).toBe(answer.status === 401);
    api.expectDescribed(listed, answer);
  }
}

describe('every operation that needs a key', () => {
  const flip = (key: string) => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
  const unknown = () => generateKey((size) => new Uint8Array(size).map((_, i) => i * 7));

  it.each<[string, () => Record<string, string>]>([
    ['none', () => ({})],
    ['another scheme', () => ({ authorization: `Basic ${system.key}` })],
    ['no key after the scheme', () => ({ authorization: 'Bearer' })],
    ['a key of another service', () => bearer('sk-proj-abcdefghijklmnopqrstuvwxyz')],
    ['a wrong checksum', () => bearer(flip(system.key))],
    ['a well-formed key that was never issued', () => bearer(unknown())],
    ['a key in the wrong header', () => ({ 'api-key': system.key })],
  ])(
    'every operation refuses %s as invalid_api_key [codes.invalid_api_key, accounts.bearer]',
    async (_what, headers) => {
      await expectOfAll(keyed(), headers(), 'invalid_api_key');
    },
  );

  it('every operation refuses a key in x-api-key as invalid_api_key, but for those that Anthropic’s clients have [codes.invalid_api_key, accounts.bearer]', async () => {
    const others = keyed().filter(({ path }) => !/^\/v1\/(messages|models)\b/.test(path));
    await expectOfAll(others, { 'x-api-key': system.key }, 'invalid_api_key');
  });

  it('every operation refuses a revoked key as revoked_api_key [codes.revoked_api_key, keys.revoked]', async () => {
    const { keys } = createRegistries(system.database.pool);
    const { key, plaintext } = await keys.issue(organisation.id, { name: 'revoked' }, OPERATOR);
    await keys.revoke(organisation.id, key.id, OPERATOR);
    await expectOfAll(keyed(), bearer(plaintext), 'revoked_api_key');
  });

  it('every operation refuses an expired key as expired_api_key [codes.expired_api_key, keys.expired]', async () => {
    const clock = movableClock();
    clock.advance(-2 * DAY_MS);
    const { keys } = createRegistries(system.database.pool, clock);
    const request = { name: 'expired', expiresAt: Date.now() - DAY_MS };
    const { plaintext } = await keys.issue(organisation.id, request, OPERATOR);
    await expectOfAll(keyed(), bearer(plaintext), 'expired_api_key');
  });

  it('every operation refuses a suspended customer as customer_suspended [codes.customer_suspended, accounts.suspended]', async () => {
    const suspended = await newOrganisation(system);
    const key = await suspended.newKey();
    const { accounts } = createRegistries(system.database.pool);
    await accounts.suspend(suspended.id, OPERATOR, 'A review is due.');
    await expectOfAll(keyed(), bearer(key), 'customer_suspended');
    const { text } = await ask(`${system.baseUrl}/account`, { headers: bearer(key) });
    expect(text).toContain('support@docket.example');
  });

  it.each(SCOPES)(
    'an operation that needs %s refuses a key with every other scope [codes.insufficient_scope, scopes.inference-read, scopes.inference-write, scopes.service-read, scopes.service-lineage, scopes.service-export, scopes.admin-keys]',
    async (scope) => {
      const { keys } = createRegistries(system.database.pool);
      const scopes = SCOPES.filter((one) => one !== scope);
      const { plaintext } = await keys.issue(organisation.id, { name: 'narrow', scopes }, OPERATOR);
      const demands = ({ operation }: Listed): boolean =>
        Object.values(operation.security[0]!).flat().includes(scope);
      await expectOfAll(keyed().filter(demands), bearer(plaintext), 'insufficient_scope');
      for (const listed of keyed().filter((one) => !demands(one))) {
        const { status, text } = await call(listed, bearer(plaintext));
        // The list of requests has those that were refused before.
        expect(status === 403 ? text : '').not.toContain('insufficient_scope');
      }
    },
  );
});

describe('things of another organisation', () => {
  it('things of another organisation are not found, in the same words as things that do not exist [accounts.other-organisations]', async () => {
    const openai = new OpenAI({ baseURL: system.baseUrl, apiKey: system.key });
    const { headers } = await openai.chat.completions
      .create(chatBody() as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming)
      .asResponse();
    const keyList = await ask(`${system.baseUrl}/keys`, { headers: bearer(system.key) });
    const foreign: Record<string, string> = {
      receipts: headers.get('x-receipt-id')!,
      keys: (JSON.parse(keyList.text) as { data: { id: string }[] }).data[0]!.id,
    };
    const { keys } = createRegistries(system.database.pool);
    const { plaintext } = await keys.issue(
      organisation.id,
      { name: 'curious', scopes: SCOPES },
      OPERATOR,
    );
    const about = keyed().filter(({ path }) => /^\/v1\/(receipts|keys)\/\{id\}/.test(path));
    expect(about.length).toBeGreaterThanOrEqual(6);
    for (const listed of about) {
      const noun = listed.path.split('/')[2]!;
      const code = `${noun.slice(0, -1)}_not_found` as const;
      const answers = await Promise.all(
        [foreign[noun]!, foreign[noun]!.replace(/.{4}$/, '0000'), 'nonsense'].map((id) =>
          call(listed, bearer(plaintext), { id }),
        ),
      );
      for (const answer of answers) {
        expectRefusal(answer, code);
        expect(answer.text).toBe(answers[0]!.text);
      }
    }
  });
});
