import type { FastifyInstance } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';

export interface PublicDocumentsOptions {
  /** The keys may be rotated while the process runs, so both are made when asked for. */
  didDocument: () => object;
  jwks: () => object;
  context: (name: string) => Buffer | undefined;
}

/** What anybody may read in order to check a receipt: the keys, and the meaning of its terms. */
export function publicDocuments(app: FastifyInstance, options: PublicDocumentsOptions): void {
  const config = { scope: 'public' } as const;
  const tags = ['Public'];
  app.get(
    '/.well-known/did.json',
    { config, schema: { tags, summary: 'The issuer as did:web' } },
    (_request, reply) =>
      reply.type('application/did+json').headers(OPEN).send(JSON.stringify(options.didDocument())),
  );
  app.get(
    '/.well-known/jwks.json',
    { config, schema: { tags, summary: 'The public keys as JWK' } },
    (_request, reply) =>
      reply.type('application/jwk-set+json').headers(OPEN).send(JSON.stringify(options.jwks())),
  );
  app.get<{ Params: { name: string } }>(
    '/contexts/:name',
    { config, schema: { tags, summary: 'A JSON-LD context, named by its content' } },
    (request, reply) => {
      const bytes = options.context(request.params.name);
      if (bytes === undefined) throw new Fault('context_not_found');
      return reply
        .type('application/ld+json')
        .headers({ ...OPEN, 'cache-control': 'public, max-age=31536000, immutable' })
        .send(bytes);
    },
  );
}

/** Verifiers run in browsers too. */
const OPEN = { 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=60' };
