import Fastify from 'fastify';
import { Pool } from 'undici';

/** The least a gateway in this stack can be: Fastify in front, undici behind, nothing between. Prints its port. */
const [origin = ''] = process.argv.slice(2);
const pool = new Pool(origin, { connections: 2_048, pipelining: 1 });
const app = Fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
  done(null, body);
});
app.post('/v1/chat/completions', async (request, reply) => {
  const { body, statusCode, headers } = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: request.body as Buffer,
  });
  const type = String(headers['content-type']);
  return reply
    .code(statusCode)
    .type(type)
    .send(type.startsWith('application/json') ? await body.text() : body);
});
await app.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`${(app.server.address() as { port: number }).port}\n`);
process.on('disconnect', () => process.exit(0));
