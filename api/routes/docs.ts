import type { FastifyInstance } from 'fastify';
import { describeApi, type DescriptionOptions } from '#api/docs/document.ts';
import type { DocumentedRoute } from '#api/docs/documented-routes.ts';
import { docsPage, STYLESHEET } from '#api/docs/page/page.ts';

/** The page runs no script and loads nothing but its stylesheet. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Short: the next version of the service may describe itself differently. */
const CACHE = 'public, max-age=300';

const HIDDEN = { config: { scope: 'public' }, schema: { hide: true } } as const;

/** The description of the API for programs and for people. Made once, when every route is known. */
export function docsRoutes(
  app: FastifyInstance,
  routes: readonly DocumentedRoute[],
  options: DescriptionOptions,
): void {
  let text = '';
  let page = '';
  app.addHook('onReady', (done) => {
    const document = describeApi(routes, options);
    text = JSON.stringify(document);
    page = docsPage(document);
    done();
  });
  for (const path of ['/openapi.json', '/v1/openapi.json']) {
    const schema = path.startsWith('/v1') ? HIDDEN.schema : {};
    app.get(path, { config: HIDDEN.config, schema }, (_request, reply) =>
      reply
        .type('application/json; charset=utf-8')
        .headers({ 'cache-control': CACHE, 'access-control-allow-origin': '*' })
        .send(text),
    );
  }
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
}
