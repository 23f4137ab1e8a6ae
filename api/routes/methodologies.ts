import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { exact, json } from '#api/docs/operation.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Methodologies } from '#shared/methodology/releases.ts';
import { isHeld } from './entity-tags.ts';
import { anyObject } from './fields.ts';

export interface MethodologyRoutesOptions {
  methodologies: Pick<Methodologies, 'listMethodologies' | 'methodologyDocument'>;
}

/** Verifiers run in browsers too. */
const OPEN = { 'access-control-allow-origin': '*' };
/** A version that was released never changes. */
const FOR_EVER = 'public, max-age=31536000, immutable';

const MethodologyList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(
      Type.Object({
        id: Type.String(),
        version: Type.String(),
        title: Type.String(),
        digest: Type.String({ description: 'SHA-256 of the document’s bytes, base64url' }),
      }),
    ),
    has_more: Type.Literal(false),
  },
  { title: 'MethodologyList' },
);

const METHODOLOGY = {
  id: 'docket-1',
  version: '1.0.0',
  title: 'Footprint of one AI inference request',
  digest: 'VcMvPxWRD0J2yk4GbsdznCEXkLLIBMw84oASoXHKq8w',
};
const { digest: _digest, ...DOCUMENT } = { schema: 'docket-methodology/1', ...METHODOLOGY };

const Params = Type.Object({
  id: Type.String({ description: 'Id of the methodology', examples: [METHODOLOGY.id] }),
  version: Type.String({ description: 'Its version', examples: [METHODOLOGY.version] }),
});

/** The methods behind the figures, as the exact bytes whose digest receipts carry. No key. */
export const methodologyRoutes: FastifyPluginAsyncTypebox<MethodologyRoutesOptions> = async (
  app,
  { methodologies },
) => {
  const config = { scope: 'public', asksNoStore: true } as const;
  // They stand at the root too, where receipts say they are; described once.
  const hide = app.prefix !== '';
  app.get(
    '/methodologies',
    {
      config,
      schema: {
        hide,
        operationId: 'listMethodologies',
        tag: 'Public',
        summary: 'List methodologies',
        description: 'Every methodology that was ever released. Also at `/v1/methodologies`.',
        response: {
          200: json('All of them, in one page.', MethodologyList, {
            methodologies: { object: 'list', data: [METHODOLOGY], has_more: false },
          }),
        },
      },
    },
    (_request, reply) => {
      void reply.headers({ ...OPEN, 'cache-control': 'public, max-age=300' });
      const data = [...methodologies.listMethodologies()];
      return { object: 'list' as const, data, has_more: false as const };
    },
  );
  app.get(
    '/methodologies/:id/:version',
    {
      config,
      schema: {
        hide,
        operationId: 'retrieveMethodology',
        tag: 'Public',
        summary: 'Read a methodology',
        description:
          'The method in full, with its formulas, constants, factor set and sources: exactly the bytes whose digest receipts carry, and `ETag` repeats. What was released never changes. Also under `/v1`.',
        params: Params,
        response: {
          200: exact('application/json', 'The document.', anyObject('A methodology'), {
            methodology: DOCUMENT,
          }),
          304: { description: 'You have it: `If-None-Match` names its digest.' },
        },
        errors: ['methodology_not_found'],
      },
    },
    (request, reply) => {
      const { id, version } = request.params;
      const document = methodologies.methodologyDocument(id, version);
      if (document === undefined) throw new Fault('methodology_not_found');
      const etag = `"${document.digest}"`;
      void reply.headers({ ...OPEN, etag, 'cache-control': FOR_EVER });
      if (isHeld(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type('application/json; charset=utf-8').send(document.text);
    },
  );
};
