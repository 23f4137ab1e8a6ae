import { expect, it } from 'vitest';
import Fastify from 'fastify';
import { readGuideFiles } from '#api/docs/guides/files.ts';
import { guidesOf } from '#api/docs/guides/guides.ts';
import { describeApi } from '#api/docs/document.ts';
import { collectOperations } from '#api/docs/operation.ts';
import { docsPage } from '#api/docs/page/page.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { turnsDuring } from '#test/support/turns-during.ts';

const DESCRIPTION = {
  publicUrl: 'https://gateway.example',
  supportEmail: 'support@docket.example',
  bodyBytesMax: 1_048_576,
  packsKeptDays: 7,
  version: '0',
};

it('documentation that could not be made is made for the next who asks', async () => {
  let failures = 1;
  const app = await buildTestApp(NO_DATABASE, {
    description: {
      ...DESCRIPTION,
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
  const app = Fastify();
  const operations = collectOperations(app);
  for (let i = 0; i < 20; i += 1) {
    const schema = {
      operationId: `read${i}`,
      tag: 'Public',
      summary: 'Read',
      description: 'Reads.',
      response: {},
    } as const;
    app.get(`/read/${i}`, { config: { scope: 'public' }, schema }, () => '');
  }
  await app.ready();
  expect(operations).toHaveLength(20);
  const described = await turnsDuring(() => describeApi(operations, DESCRIPTION));
  expect(described.turns).toBeGreaterThanOrEqual(operations.length);
  const drawn = await turnsDuring(() =>
    docsPage(described.result, guidesOf(readGuideFiles()), false),
  );
  expect(drawn.turns).toBeGreaterThanOrEqual(operations.length);
});
