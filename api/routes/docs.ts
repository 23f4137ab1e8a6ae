import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { describeApi, type DescriptionOptions } from '#api/docs/document.ts';
import { type DeclaredOperation, exact } from '#api/docs/operation.ts';
import { PAGE_HEADERS } from '#api/dashboard/guard.ts';
import { docsPage } from '#api/docs/page/page.ts';
import { CompressedText } from '#api/docs/compressed.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { madeOnce } from '#shared/kernel/made-once.ts';
import { anyObject } from './fields.ts';

/** As of every page, and no form goes anywhere: what the page sends, its script sends, to this service alone. */
const PAGE_POLICY = PAGE_HEADERS['content-security-policy'].replace(
  "form-action 'self'",
  "form-action 'none'",
);
/** Short: the next version of the service may describe itself differently. */
const CACHE = 'public, max-age=300';
/** The addresses of files change when they do. */
const CACHE_FOR_EVER = 'public, max-age=31536000, immutable';

const HIDDEN = { config: { scope: 'public', asksNoStore: true }, schema: { hide: true } } as const;

export interface DocsRoutesOptions {
  operations: readonly DeclaredOperation[];
  description: DescriptionOptions;
  hasDashboard: boolean;
}

/** The description of the API for programs and for people. Made once, when the first asks; most processes are never asked. */
export const docsRoutes: FastifyPluginAsync<DocsRoutesOptions> = async (
  app,
  { operations, description, hasDashboard },
) => {
  const docs = madeOnce(async () => {
    const document = await describeApi(operations, description);
    const made = await docsPage(document, hasDashboard);
    const compressed = made.files.map(
      async ({ path, type, text }) =>
        [path, { type, text: await CompressedText.of(text) }] as const,
    );
    return {
      text: await CompressedText.of(JSON.stringify(document)),
      page: await CompressedText.of(made.page),
      files: new Map(await Promise.all(compressed)),
    };
  });
  const sendDescription = async (request: FastifyRequest, reply: FastifyReply) =>
    (await docs()).text.send(
      request,
      reply
        .type('application/json; charset=utf-8')
        .headers({ 'cache-control': CACHE, 'access-control-allow-origin': '*' }),
    );
  app.get('/v1/openapi.json', HIDDEN, sendDescription);
  app.get(
    '/openapi.json',
    {
      config: { scope: 'public', asksNoStore: true },
      schema: {
        operationId: 'retrieveApiDescription',
        tag: 'Public',
        summary: 'Read this description',
        description:
          'OpenAPI 3.1, made from the schemas that validate. Also at `/v1/openapi.json`.',
        response: {
          200: exact('application/json', 'The description.', anyObject('An OpenAPI document'), {
            description: { openapi: '3.1.1' },
          }),
          304: { description: 'You have it: `If-None-Match` names its `ETag`.' },
        },
      },
    },
    sendDescription,
  );
  app.get('/docs', HIDDEN, async (request, reply) =>
    (await docs()).page.send(
      request,
      reply.type('text/html; charset=utf-8').headers({
        ...PAGE_HEADERS,
        'content-security-policy': PAGE_POLICY,
        'referrer-policy': 'no-referrer',
        'cache-control': CACHE,
      }),
    ),
  );
  app.get<{ Params: { file: string } }>('/docs/:file', HIDDEN, async (request, reply) => {
    const file = (await docs()).files.get(`/docs/${request.params.file}`);
    if (file === undefined) throw new Fault('route_not_found');
    return file.text.send(
      request,
      reply
        .type(`${file.type}; charset=utf-8`)
        .headers({ 'cache-control': CACHE_FOR_EVER, 'x-content-type-options': 'nosniff' }),
    );
  });
};
