import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { describeApi, type DescriptionOptions } from '#api/docs/document.ts';
import { type DeclaredOperation, exact } from '#api/docs/operation.ts';
import { docsPage, STYLESHEET } from '#api/docs/page/page.ts';
import { anyObject } from './fields.ts';

/** The page runs no script and loads nothing but its stylesheet. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Short: the next version of the service may describe itself differently. */
const CACHE = 'public, max-age=300';

const HIDDEN = { config: { scope: 'public' }, schema: { hide: true } } as const;

export interface DocsRoutesOptions {
  operations: readonly DeclaredOperation[];
  description: DescriptionOptions;
}

/** The description of the API for programs and for people. Made once, when every route is known. */
export const docsRoutes: FastifyPluginAsync<DocsRoutesOptions> = async (
  app,
  { operations, description },
) => {
  let text = '';
  let page = '';
  app.addHook('onReady', (done) => {
    const document = describeApi(operations, description);
    text = JSON.stringify(document);
    page = docsPage(document);
    done();
  });
  const sendDescription = (_request: FastifyRequest, reply: FastifyReply) =>
    reply
      .type('application/json; charset=utf-8')
      .headers({ 'cache-control': CACHE, 'access-control-allow-origin': '*' })
      .send(text);
  app.get('/v1/openapi.json', HIDDEN, sendDescription);
  app.get(
    '/openapi.json',
    {
      config: { scope: 'public' },
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
        },
      },
    },
    sendDescription,
  );
  app.get('/docs', HIDDEN, (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .headers({
        'cache-control': CACHE,
        'content-security-policy': PAGE_POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      .send(page),
  );
  app.get('/docs/docs.css', HIDDEN, (_request, reply) =>
    reply
      .type('text/css; charset=utf-8')
      .headers({ 'cache-control': CACHE, 'x-content-type-options': 'nosniff' })
      .send(STYLESHEET),
  );
};
