import type { FastifyInstance } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { Methodologies } from '#shared/methodology/files/methodologies.ts';

export interface MethodologyRoutesOptions {
  methodologies: Pick<Methodologies, 'listMethodologies' | 'methodologyDocument'>;
}

/** Verifiers run in browsers too. */
const OPEN = { 'access-control-allow-origin': '*' };
/** A version that was released never changes. */
const FOR_EVER = 'public, max-age=31536000, immutable';
const TAGS = ['Public'];

/** The methods behind the figures, as the exact bytes whose digest receipts carry. No key. */
export function methodologyRoutes(
  app: FastifyInstance,
  { methodologies }: MethodologyRoutesOptions,
): void {
  const config = { scope: 'public' } as const;
  // They stand at the root too, where receipts say they are; described once.
  const hide = app.prefix !== '';
  app.get(
    '/methodologies',
    { config, schema: { tags: TAGS, hide, summary: 'Every methodology that was released' } },
    (_request, reply) => {
      const data = methodologies.listMethodologies();
      return reply
        .headers({ ...OPEN, 'cache-control': 'public, max-age=300' })
        .send({ object: 'list', data, has_more: false });
    },
  );
  app.get<{ Params: { id: string; version: string } }>(
    '/methodologies/:id/:version',
    { config, schema: { tags: TAGS, hide, summary: 'A methodology, with its factor set' } },
    (request, reply) => {
      const { id, version } = request.params;
      const document = methodologies.methodologyDocument(id, version);
      if (document === undefined) throw new Fault('methodology_not_found');
      const etag = `"${document.digest}"`;
      void reply.headers({ ...OPEN, etag, 'cache-control': FOR_EVER });
      if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type('application/json; charset=utf-8').send(document.text);
    },
  );
}

/** `If-None-Match`: a list of tags, weak ones too, or `*` (RFC 9110, 13.1.2). */
function matches(header: string | undefined, etag: string): boolean {
  return (header ?? '')
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*');
}
