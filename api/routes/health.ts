import type { IncomingMessage } from 'node:http';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { json } from '#api/docs/operation.ts';

const Health = Type.Object({ status: Type.Literal('ok') }, { title: 'Health' });
const OK = { status: 'ok' } as const;

const PATHS: ReadonlySet<string | undefined> = new Set(['/health', '/v1/health']);

/** Whether a request asks for nothing but this, in the words that balancers do. */
export function isHealthCheck({ method, url }: Pick<IncomingMessage, 'method' | 'url'>): boolean {
  return (method === 'GET' || method === 'HEAD') && PATHS.has(url);
}

/**
 * Whether this process answers. Balancers often share the address of those whose requests they pass on, so it counts under
 * no rate: to refuse it would cost as much, and take the process away from everyone.
 */
export const healthRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/health',
    {
      config: { scope: 'public', asksNoStore: true, bucket: 'none' },
      schema: {
        operationId: app.prefix === '' ? 'retrieveHealth' : 'retrieveHealthOfVersion',
        tag: 'Public',
        summary: 'See whether the service answers',
        description:
          'For balancers and programs that look whether an address is right. No store is asked and no rate counts it; `/status` says how regions and ledger are. Also at `/v1/health`.',
        response: { 200: json('The process answers.', Health, { health: OK }) },
      },
    },
    (_request, reply) => {
      void reply.header('cache-control', 'no-store');
      return OK;
    },
  );
};
