import { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { hasBody } from './intake.ts';

/** A client that is told no goes on sending for as long as this, and for so many bytes. Then it is cut off. */
const DRAIN_MS = 5_000;
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const LOOK_MS = 50;

/**
 * Reads, and throws away, the rest of a body whose request has been refused: a connection that is closed while the client
 * still writes takes the answer with it, and many clients never see why. Within bounds, because nothing obliges a client
 * to stop.
 */
export function drainUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _payload, next) => {
    if (!request.raw.complete && hasBody(request)) drain(reply);
    next();
  });
}

function drain(reply: FastifyReply): void {
  const { raw: response } = reply;
  const { raw: request } = reply.request;
  const { socket } = request;
  // What Fastify injects has no connection, and nothing that is still on its way.
  if (!(socket instanceof Socket)) return;
  const wantsClose = !response.shouldKeepAlive;
  // Node closes a connection that is not kept with its own last byte; one that is kept it reads on.
  reply.removeHeader('connection');
  response.shouldKeepAlive = true;
  const bytesMax = socket.bytesRead + DRAIN_BYTES_MAX;
  const endsAt = performance.now() + DRAIN_MS;
  const look = setInterval(() => {
    const isPatient = performance.now() < endsAt && socket.bytesRead < bytesMax;
    if (!request.complete && !socket.destroyed && isPatient) return;
    clearInterval(look);
    if (!request.complete) socket.destroy();
    else if (wantsClose) socket.end();
  }, LOOK_MS);
  look.unref();
}
