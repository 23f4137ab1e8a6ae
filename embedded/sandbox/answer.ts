import { randomUUID } from 'node:crypto';
import { type AnswerIdentity, readChatRequest, streamChat, wholeChat } from './chat.ts';
import { readCompletionRequest, streamCompletion, wholeCompletion } from './completions.ts';
import { embeddingsAnswer, readEmbeddingRequest } from './embeddings.ts';
import { UPSTREAM_FAILURE } from './event-stream.ts';
import type { Input } from './input.ts';
import type { Reply } from './reply.ts';
import { readResponseRequest, streamResponse, wholeResponse } from './responses.ts';

/** The paths that are answered here, all by POST, after the version. */
export const ROUTES = ['/chat/completions', '/completions', '/embeddings', '/responses'];

/** OpenAI's error object as text. */
export function errorBody(
  message: string,
  type: string,
  param: string | null,
  code: string | null,
): string {
  return JSON.stringify({ error: { message, type, param, code } });
}

function identify(prefix: string): AnswerIdentity {
  return {
    id: `${prefix}-${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1000),
    fingerprint: 'fp_almanac_2',
  };
}

async function sendWhole(reply: Reply, whole: object): Promise<void> {
  const { fault } = reply;
  const spoilt = fault['error-first'] === true || fault['error-after'] !== undefined;
  if (spoilt || fault['malformed-after'] !== undefined) reply.markFaulted();
  let body = JSON.stringify(spoilt ? UPSTREAM_FAILURE : whole);
  if (fault['malformed-after'] !== undefined) body = body.slice(0, body.length >> 1);
  reply.open(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  if (fault['cut-after'] === undefined) return reply.end(body);
  await reply.write(body.slice(0, body.length >> 1));
  return reply.cut(fault.cut === 'reset' ? 'reset' : 'close');
}

async function sendFailure(reply: Reply, status: number): Promise<void> {
  const { 'retry-after': retryAfter } = reply.fault;
  const body =
    status === 429
      ? errorBody('Too many requests.', 'requests', null, 'rate_limit_exceeded')
      : errorBody('The upstream failed, as it was told to.', 'server_error', null, 'sandbox_fault');
  reply.markFaulted();
  reply.open(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
  });
  return reply.end(body);
}

/** Answers one call: reads the request, then fails or answers as its fault says. Throws BadRequest. */
export async function answer(path: string, input: Input, reply: Reply): Promise<void> {
  const { fault } = reply;
  // Everything is read before anything is sent, so that a bad request is a 400 and not a broken stream.
  const chat = path === '/chat/completions' ? readChatRequest(input) : undefined;
  const completion = path === '/completions' ? readCompletionRequest(input) : undefined;
  const response = path === '/responses' ? readResponseRequest(input) : undefined;
  if (fault.stall !== undefined) await reply.pacer.sleep(fault.stall);
  if (reply.gone) return;
  if (fault.status !== undefined) return sendFailure(reply, fault.status);
  if (fault.cut !== undefined && fault['cut-after'] === undefined) return reply.cut(fault.cut);
  if (chat !== undefined) {
    const identity = identify('chatcmpl');
    if (chat.stream) return streamChat(chat, identity, reply);
    return sendWhole(reply, wholeChat(chat, identity, fault));
  }
  if (completion !== undefined) {
    const identity = identify('cmpl');
    if (completion.stream) return streamCompletion(completion, identity, reply);
    return sendWhole(reply, wholeCompletion(completion, identity, fault));
  }
  if (response !== undefined) {
    const identity = identify('resp');
    if (response.stream) return streamResponse(input, response, identity, reply);
    return sendWhole(reply, wholeResponse(input, response, identity, fault));
  }
  return sendWhole(reply, embeddingsAnswer(readEmbeddingRequest(input), fault));
}
