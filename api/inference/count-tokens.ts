import type { FastifyRequest } from 'fastify';
import { unknownModelStatus } from '#api/anthropic/error-envelope.ts';
import { findModel } from '#shared/catalogue/routing.ts';
import { enterReader, type ReadingDeps } from './enter-reader.ts';
import type { RouteDeps } from './route.ts';
import { bodyOf, withBody } from './request-body.ts';

export interface CountDeps extends ReadingDeps, Pick<RouteDeps, 'index'> {
  now: () => number;
}

/**
 * Counts what a model would read of a request for a message, with the vocabulary by which answers without usage are counted.
 * That is done on a thread, however short the text is. Nothing reaches a model, so nothing is screened and there is no receipt.
 * @param hasLeft whether its client has
 * @returns null when it has left while it waited for a thread
 * @throws Fault when the request or its model is not valid
 */
export function countTokens(
  deps: CountDeps,
  request: FastifyRequest,
  hasLeft: () => boolean,
): Promise<{ input_tokens: number } | null> {
  return withBody(request, () => counted(deps, request, hasLeft));
}

async function counted(
  deps: CountDeps,
  request: FastifyRequest,
  hasLeft: () => boolean,
): Promise<{ input_tokens: number } | null> {
  const { id, headers, credential } = request;
  const rawBody = bodyOf(request);
  const reader = await enterReader(deps, {
    bytes: rawBody.length,
    orgId: credential.orgId,
    isCounted: true,
  });
  try {
    if (hasLeft()) return null;
    const asked = { id, route: 'messages', rawBody, headers, credential, counts: true } as const;
    const { asked: wanted } = await reader.read({ ...asked, now: deps.now() });
    const { model } = wanted;
    const unknownStatus = unknownModelStatus('messages');
    const routes = findModel(deps.index(), { model, kind: 'chat', unknownStatus }, credential);
    return { input_tokens: await reader.countPrompt(routes.model) };
  } finally {
    reader.leave();
  }
}
