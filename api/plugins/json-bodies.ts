import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseJsonBody } from '#api/openai/parse-json.ts';

/** JSON bodies come as bytes: the fingerprint and the digest are over exactly what was sent. */
export function parseJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request: FastifyRequest, body, done) => {
      const rawBody = body as Buffer;
      if (request.routeOptions.schema?.rawBody !== undefined) {
        // The reader of a large one takes the bytes with it; how many there were is asked when it is refused.
        return done(null, { rawBody, bytes: rawBody.length });
      }
      try {
        done(null, rawBody.length === 0 ? undefined : parseJsonBody(rawBody).value);
      } catch (error) {
        done(error as Error);
      }
    },
  );
}
