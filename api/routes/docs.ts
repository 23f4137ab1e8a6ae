import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { describeApi, type DescriptionOptions } from '#api/docs/document.ts';
import { type DeclaredOperation, exact } from '#api/docs/operation.ts';
import { readPictures } from '#api/docs/guides/files.ts';
import type { Guides } from '#api/docs/guides/guides.ts';
import { guidePage } from '#api/docs/guides/page.ts';
import { PAGE_HEADERS, strictTransport } from '#api/dashboard/guard.ts';
import { docsPage } from '#api/docs/page/page.ts';
import { CompressedText } from '#api/plugins/compressed.ts';
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

const HTML = 'text/html; charset=utf-8';
const DOCS_HEADERS = {
  ...PAGE_HEADERS,
  'content-security-policy': PAGE_POLICY,
  'referrer-policy': 'no-referrer',
  'cache-control': CACHE,
} as const;

/** A drawing has its styles in itself, and is nothing but seen. */
const PICTURE_HEADERS = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'x-content-type-options': 'nosniff',
  'cache-control': CACHE,
} as const;

/** Made for the first who asks for it. */
type MadeFile = () => Promise<{
  type: string;
  headers: typeof DOCS_HEADERS | typeof PICTURE_HEADERS;
  text: CompressedText;
}>;

const HIDDEN = { config: { scope: 'public', asksNoStore: true }, schema: { hide: true } } as const;

export interface DocsRoutesOptions {
  operations: readonly DeclaredOperation[];
  description: DescriptionOptions;
  guides: () => Promise<Guides>;
  hasDashboard: boolean;
}

/** The description of the API for programs and for people. Made once, when the first asks; most processes are never asked. */
export const docsRoutes: FastifyPluginAsync<DocsRoutesOptions> = async (
  app,
  { operations, description, guides: readGuides, hasDashboard },
) => {
  strictTransport(app, description.publicUrl);
  const docs = madeOnce(async () => {
    const document = await describeApi(operations, description);
    const guides = await readGuides();
    const made = await docsPage(document, guides, hasDashboard);
    const pictures = readPictures();
    const parts = { guides, pictures, index: made.index, hasDashboard };
    // Beside each other, on threads.
    const [text, page, ...files] = await Promise.all([
      CompressedText.of(JSON.stringify(document)),
      CompressedText.of(made.page),
      ...made.files.map(({ text: content }) => CompressedText.of(content)),
    ]);
    return {
      text,
      page,
      files: new Map(made.files.map(({ path, type }, i) => [path, { type, text: files[i]! }])),
      guides: new Map([
        ...[...guides.all.values()].map((guide): [string, MadeFile] => [
          guide.address,
          madeOnce(async () => ({
            type: HTML,
            headers: DOCS_HEADERS,
            text: await CompressedText.of((await guidePage(guide, parts)).text),
          })),
        ]),
        ...[...pictures.values()].map(({ address, content }): [string, MadeFile] => [
          address,
          madeOnce(async () => ({
            type: address.endsWith('.svg') ? 'image/svg+xml' : 'image/webp',
            headers: PICTURE_HEADERS,
            text: await CompressedText.of(content),
          })),
        ]),
      ]),
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
    (await docs()).page.send(request, reply.type(HTML).headers(DOCS_HEADERS)),
  );
  // A page is looked up by its address, which therefore leads to no other file.
  const sendGuide = async (
    request: FastifyRequest<{ Params: { '*'?: string } }>,
    reply: FastifyReply,
  ) => {
    const { '*': name } = request.params;
    const address = name === undefined ? '/docs/guides' : `/docs/guides/${name}`;
    const guide = await (await docs()).guides.get(address)?.();
    if (guide === undefined) throw new Fault('route_not_found');
    return guide.text.send(request, reply.type(guide.type).headers(guide.headers));
  };
  app.get('/docs/guides', HIDDEN, sendGuide);
  app.get('/docs/guides/*', HIDDEN, sendGuide);
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
