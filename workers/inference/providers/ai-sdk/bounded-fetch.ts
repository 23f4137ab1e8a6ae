import { Agent, fetch as undiciFetch } from 'undici';
import { connector } from '../connector.ts';

/** An answer above this is not an answer; the same bound as for other upstreams. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024;

/** Not that of Node, to which a reset is the end of an answer that ends with its connection. */
const fetch = undiciFetch as unknown as (
  input: string | URL | Request,
  init: Omit<RequestInit, 'dispatcher'> & { dispatcher: Agent },
) => Promise<Response>;
const dispatcher = new Agent({ connect: connector() });

/**
 * `fetch` whose answers end with an error once they exceed the bound: the libraries read them whole. It goes nowhere else
 * than it is sent: the headers in which these providers take credentials would go along to another host.
 */
export const boundedFetch: typeof globalThis.fetch = async (input, init) => {
  const answer = await fetch(input, { ...init, redirect: 'manual', dispatcher });
  if (answer.body === null) return answer;
  let size = 0;
  const bounded = answer.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.length;
        if (size > ANSWER_BYTES_MAX) controller.error(new Error('the answer is too large'));
        else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(bounded, answer);
};
