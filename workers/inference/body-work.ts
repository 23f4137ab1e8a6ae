import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { CALLER_NAMES } from '#shared/dialects/chat-of-message.ts';
import { hasNamedEvents } from '#shared/kernel/event-stream.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { memberText, setMember } from '#shared/kernel/json-text.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { type Asked, asked, getsMessage, screenedBody, upstreamBody } from './bodies.ts';
import { withoutUnsealed, withoutUnsigned } from './unsigned-thoughts.ts';
import { dependsOnEndpoint, promptAtLeast } from './usage.ts';

/**
 * Bodies of more characters are worked on by a thread. A quarter of them take 30 ms where they are dense, and are read several
 * times; to send one there and back takes less than a millisecond.
 */
export const LARGE_CHARS = 256 * 1024;
/** Counted on the thread from here on: a vocabulary is looked up for each word, 6 ms for 60 KB of them. */
export const COUNTED_CHARS = 16 * 1024;

/** A request and its body. */
export type WholeRequest = Pick<InferenceEntry, 'asMessage' | 'route' | 'stream'> & {
  body: string;
};

/** What of an endpoint says how a body is told to it. */
export type Told = Pick<Endpoint, 'developerRole' | 'messages' | 'reasoningContent' | 'responses'>;

/** What one endpoint is asked. */
export interface Prepared {
  route: Route;
  /** The body as the endpoint is to get it. */
  body: string;
  /** What the writer of the answer must know of the request; empty where the endpoint writes it in the request's interface. */
  forWriter: string;
}

/** What takes the longer the longer a body is, each in one go: on a thread for a large one. The first argument has the body. */
export const BODY_WORK = {
  /** The body for an endpoint: in its interface, and where that is the request's own, without thoughts that are of others' models. */
  prepared(
    request: WholeRequest,
    { endpoint, model }: { endpoint: Told; model: string },
  ): Prepared {
    const toldTo = ({ route, body }: OfRoute): OfRoute => ({
      route,
      body: upstreamBody(body, route, { endpoint, model }, request.stream),
    });
    const inOwn = inOwnInterface(request, endpoint);
    if (inOwn !== undefined) return { ...toldTo(inOwn), forWriter: '' };
    const screened = screenedBody(request, request.body);
    const isOurs = hasNamedEvents(request.route);
    return {
      ...toldTo(asked(request.route, screened, endpoint)),
      forWriter: isOurs ? forWriter(request.route, screened) : '',
    };
  },

  /** What an endpoint is asked, in the interface in which its prompt is counted. */
  asked: (request: WholeRequest, endpoint: Told): Asked =>
    asked(request.route, screenedBody(request, request.body), endpoint),

  promptAtLeast,
  dependsOnEndpoint,
};

export type BodyWork = typeof BODY_WORK;

interface OfRoute {
  route: Route;
  body: string;
}

/** Undefined where the endpoint gets a chat in its place. */
function inOwnInterface(request: WholeRequest, endpoint: Told): OfRoute | undefined {
  const { route, body } = request;
  const takesAll = endpoint.reasoningContent === true;
  if (getsMessage(request, endpoint))
    return { route, body: takesAll ? body : withoutUnsigned(body) };
  if (route !== 'responses' || endpoint.responses !== true) return undefined;
  return { route, body: takesAll ? body : withoutUnsealed(body) };
}

/** The request; of a large one without what no answer repeats: of its input the tools alone that stand there. */
function forWriter(route: Route, body: string): string {
  if (body.length <= LARGE_CHARS) return body;
  if (route === 'messages') {
    const named = ['stop', CALLER_NAMES].flatMap((name) => {
      const value = memberText(body, name);
      return value === undefined ? [] : [`${JSON.stringify(name)}:${value}`];
    });
    return `{${named.join(',')}}`;
  }
  const { input } = JSON.parse(body) as JsonObject;
  const tools = listOf(input).filter(
    (item) => isObject(item) && item['type'] === 'additional_tools',
  );
  return setMember(body, 'input', JSON.stringify(tools));
}
