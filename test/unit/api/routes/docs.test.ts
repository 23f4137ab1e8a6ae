import { expect, it } from 'vitest';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';

it('documentation that could not be made is made for the next who asks', async () => {
  let failures = 1;
  const app = await buildTestApp(NO_DATABASE, {
    description: {
      publicUrl: 'https://gateway.example',
      supportEmail: 'support@docket.example',
      bodyBytesMax: 1_048_576,
      get version() {
        if (failures > 0) {
          failures -= 1;
          throw new Error('out of memory');
        }
        return '0';
      },
    },
  });
  expect((await app.inject('/docs')).statusCode).toBe(500);
  expect((await app.inject('/docs')).statusCode).toBe(200);
  expect((await app.inject('/openapi.json')).statusCode).toBe(200);
});
