import { hash } from 'node:crypto';
import type { FastifyPluginAsync } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { VerifierFile } from '#api/verifier/bundle.ts';
import { isHeld } from './entity-tags.ts';

export interface VerifierRoutesOptions {
  files: () => Promise<ReadonlyMap<string, VerifierFile>>;
}

/** Names that are digests of content stay; the others are of this release. */
const CACHE = 'public, max-age=300';
const CACHE_FOR_EVER = 'public, max-age=31536000, immutable';

/** `docket/verify` for browsers: what judges receipts and packs on the visitor's own machine. */
export const verifierRoutes: FastifyPluginAsync<VerifierRoutesOptions> = async (app, { files }) => {
  app.get<{ Params: { file: string } }>(
    '/verify/:file',
    { config: { scope: 'public', asksNoStore: true }, schema: { hide: true } },
    async (request, reply) => {
      const { file: name } = request.params;
      // Nothing is made for a name that is none.
      if (!/^[\w-]+\.js(?:on)?$/.test(name)) throw new Fault('route_not_found');
      const file = (await files()).get(name);
      if (file === undefined) throw new Fault('route_not_found');
      const etag = `"${hash('sha256', file.content, 'base64url')}"`;
      void reply.headers({
        'cache-control': /-[\w-]{8}\.js$/.test(name) ? CACHE_FOR_EVER : CACHE,
        etag,
        'x-content-type-options': 'nosniff',
      });
      if (isHeld(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type(file.type).send(file.content);
    },
  );
};
