import { request } from 'node:http';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { generateKey } from '#shared/keys/format.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { joinProduct } from '#test/support/product.ts';

const system = await joinProduct();

/** Sends a header value as it is, which `fetch` would refuse to. Null when the server closes on it. */
function ask(authorization: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const call = request(`${system.baseUrl}/account`, { headers: { authorization } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => resolve({ status: answer.statusCode!, text }));
    });
    call.on('error', reject).end();
  });
}

/** Text that a header may hold: visible characters of Latin-1, spaces and tabs. */
const headerText = fc
  .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })), {
    maxLength: 80,
  })
  .map((codes) => String.fromCharCode(...codes));

const injection = fc.constantFrom(
  "' OR '1'='1",
  "'; DROP TABLE api_key; --",
  "dkt_' UNION SELECT * FROM api_key --",
  '$(reboot)',
  '{{7*7}}',
  '%00',
  '\\x00',
  'null',
  'undefined',
  '__proto__',
);

it('no Authorization header gets anywhere but 401 [accounts.bearer]', async () => {
  const unknownKey = fc
    .uint8Array({ minLength: 32, maxLength: 32, max: 247 })
    .map((bytes) => generateKey(() => bytes));
  const token = fc.oneof(headerText, injection, unknownKey);
  const scheme = fc.constantFrom('Bearer ', 'bearer ', 'Basic ', '', 'Bearer  ', 'Bearer Bearer ');
  const { text: refusal } = await ask('');
  expect(JSON.parse(refusal)).toMatchObject({
    error: { type: 'auth_error', code: 'invalid_api_key', param: null },
  });
  await forAllAsync([scheme, token], { numRuns: runs(300) }, async (before, rest) => {
    const { status, text } = await ask(`${before}${rest}`);
    // The same bytes each time: nothing of the header is repeated.
    expect({ status, text }).toEqual({ status: 401, text: refusal });
  });
  const { rows } = await system.database.pool.query<{ n: number }>(
    'select count(*)::int as n from api_key where org_id = any($1)',
    [system.organisations],
  );
  expect(rows[0]!.n).toBe(3);
  expect((await ask(`Bearer ${system.key}`)).status).toBe(200);
});
