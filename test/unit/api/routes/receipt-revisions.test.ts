import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { AppOptions } from '#api/app.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { TestCredentials } from '#test/support/credentials.ts';

it('a chain of revisions is read one receipt after the other: its request holds one connection to the stores', async () => {
  const ids = Array.from({ length: 8 }, (_, at) => `rcpt_${at}`);
  let [reading, most] = [0, 0];
  const ledger = {
    revisions: async () => ids,
    receipt: async (_orgId: string, id: string) => {
      reading += 1;
      most = Math.max(most, reading);
      await turn();
      reading -= 1;
      return { body: Buffer.from(JSON.stringify({ id })) };
    },
  };
  const credentials = new TestCredentials();
  const app = await buildTestApp(NO_DATABASE, {
    authenticate: { credentials, keyUse: { used() {} } },
    receipts: { ledger } as unknown as AppOptions['receipts'],
  });
  const authorization = `Bearer ${credentials.issue('a', ['service:read'])}`;
  const url = '/v1/receipts/rcpt_01K5Y0V8Z3M4N5P6Q7R8S9T0AB/revisions';
  const reply = await app.inject({ url, headers: { authorization } });
  expect(reply.json()).toMatchObject({ data: ids.map((id) => ({ id })) });
  expect(most).toBe(1);
});
