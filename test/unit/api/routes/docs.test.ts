import { expect, it } from 'vitest';
import type { ApiDocument } from '#api/docs/document-shape.ts';
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

it('documentation is made in turns, between which other requests are answered', async () => {
  const app = await buildTestApp(NO_DATABASE);
  let turns = 0;
  let next: NodeJS.Immediate;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  next = setImmediate(count);
  const made = await app.inject('/docs');
  clearImmediate(next);
  const { paths } = (await app.inject('/openapi.json')).json<ApiDocument>();
  const operations = Object.values(paths).flatMap((item) => Object.keys(item));
  expect(made.statusCode).toBe(200);
  // One of each operation to describe it, and one to draw it.
  expect(turns).toBeGreaterThan(2 * operations.length);
});
