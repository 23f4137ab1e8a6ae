/** What OpenAI's interface has beside what is offered here, by the beginning of its path, and why it is not. */
const ELSEWHERE: readonly (readonly [path: string, what: string])[] = [
  ['assistants', 'no assistants are kept here'],
  ['audio', 'no speech is made or written down here; models that take audio get it in messages'],
  ['batches', 'requests are answered one by one here'],
  ['chat/completions', 'chat completions are not kept here; /v1/responses are'],
  ['chatkit', 'no sessions are kept here'],
  ['containers', 'no code is run here'],
  ['conversations', 'no conversations are kept here'],
  ['evals', 'no evaluations are run here'],
  ['files', 'no files are kept here; send the data in the message'],
  ['fine_tuning', 'no models are trained here'],
  ['fine-tunes', 'no models are trained here'],
  ['images', 'no images are made here; models that take images get them in messages'],
  ['messages/batches', 'requests are answered one by one here'],
  ['moderations', 'texts are judged only as part of a request'],
  ['organization', 'see /v1/account, /v1/keys and /v1/usage'],
  ['realtime', 'no sessions are kept here; stream an answer instead'],
  [
    'responses/compact',
    'no conversation is compacted here; go on by `previous_response_id`, or have a model sum it up',
  ],
  [
    'responses/input_tokens',
    'tokens are told with the answer; POST /v1/messages/count_tokens counts those of a message',
  ],
  ['responses', 'responses are created, read and deleted here, and their input items listed'],
  ['threads', 'no conversations are kept here'],
  ['uploads', 'no files are kept here; send the data in the message'],
  ['vector_stores', 'no files are kept here; /v1/embeddings makes vectors'],
  ['videos', 'no videos are made here'],
];

const OFFERED =
  'POST /v1/chat/completions, /v1/responses, /v1/messages, /v1/completions and /v1/embeddings, and GET /v1/models; /docs has everything.';

/** What programs send to behind their base URL, where that ends in no version. */
const WITHOUT_VERSION =
  /^\/(?:chat\/completions|completions|embeddings|responses|messages|models)(?:\/|$)/;
const VERSION_TWICE = /^\/v1\/v1(?:\/|$)/;
/** `https://host//v1`, or `https://host/v1/` before a path with a slash of its own. */
const SLASH_TWICE = /^\/{2,}v1(?:\/|$)|^\/{1,2}v1\/{2,}./;
/** What stands behind a base URL. */
const OPERATION = '(?:chat/completions|completions|embeddings|messages|models|responses)';
/** Where other services have their interface: Groq and Azure, OpenRouter, gateways of many. */
const OF_OTHERS = new RegExp(
  `^/(?:v1/)?(openai|anthropic|api|v1beta/openai)(?:/v1(?:/|$)|/${OPERATION}(?:/|$))`,
);
/** A base URL that is the address of an operation already. */
const OPERATION_TWICE = new RegExp(`^/v1/${OPERATION}(?:/v1)?/${OPERATION}/?$`);
/** Another version, as some have it in their base URL. */
const ANOTHER_VERSION = new RegExp(`^/(v[02-9][a-z0-9]*|v1beta)/${OPERATION}(?:/|$)`);
/** Interfaces of other services that are not offered, by how their addresses begin. */
const INTERFACES: readonly (readonly [RegExp, string])[] = [
  [/^\/openai\/deployments\//, 'Azure'],
  [/^\/v1beta\/(?:models|openai)(?:\/|$)/, 'Google'],
  [/^\/api\/(?:chat|generate|tags|embed|embeddings|show|ps|version)$/, 'Ollama'],
];

/** What is said of an address to which a wrong base URL leads; undefined for others. */
export function wrongBase(url: string, publicUrl: string): string | undefined {
  const path = url.split('?', 1)[0]!;
  if (WITHOUT_VERSION.test(path))
    return `The base URL lacks /v1: it is ${publicUrl}/v1. There is nothing at this address.`;
  if (VERSION_TWICE.test(path))
    return `This address has /v1 more than once. The base URL is ${publicUrl}/v1, or ${publicUrl} for a program that adds /v1 by itself.`;
  if (SLASH_TWICE.test(path))
    return `This address has a slash too many. The base URL is ${publicUrl}/v1, without a slash at its end.`;
  const [, theirs] = OF_OTHERS.exec(path) ?? [];
  if (theirs !== undefined)
    return `The base URL is ${publicUrl}/v1, without /${theirs}; ${publicUrl} for a program that adds /v1 by itself. There is nothing at this address.`;
  if (OPERATION_TWICE.test(path))
    return `The base URL has the path of an operation at its end. It is ${publicUrl}/v1, or ${publicUrl} for a program that adds /v1 by itself.`;
  const [, whose] = INTERFACES.find(([begins]) => begins.test(path)) ?? [];
  if (whose !== undefined)
    return `This is an address as ${whose} has it. Offered are the interfaces of OpenAI and Anthropic, with the base URL ${publicUrl}/v1, or ${publicUrl} for a program that adds /v1 by itself.`;
  const [, version] = ANOTHER_VERSION.exec(path) ?? [];
  if (version !== undefined)
    return `The base URL is ${publicUrl}/v1: there is one version, and no /${version}.`;
  return undefined;
}

/** What is said of an address that one of other methods would be taken for, and of which it is known what was meant. */
export function notMeant(url: string, publicUrl: string): string | undefined {
  const path = url.split('?', 1)[0]!;
  if (OPERATION_TWICE.test(path)) return wrongBase(url, publicUrl);
  return NOT_MEANT.has(path) ? notOffered(url) : undefined;
}

/** These would be responses by their ids. */
const NOT_MEANT: ReadonlySet<string> = new Set([
  '/v1/responses/compact',
  '/v1/responses/input_tokens',
]);

/**
 * What is said of an address where nothing is, if OpenAI's interface has something there; undefined for others. The path
 * is not repeated but for the name that it begins with.
 */
export function notOffered(url: string): string | undefined {
  const path = url.split('?', 1)[0]!;
  for (const [name, why] of ELSEWHERE) {
    const root = `/v1/${name}`;
    if (path === root) return `${root} is not offered: ${why}. Offered are ${OFFERED}`;
    if (path.startsWith(`${root}/`))
      return `Nothing below ${root} is offered: ${why}. Offered are ${OFFERED}`;
  }
  return undefined;
}
