/** An interface of some version, as OpenAI's servers have it: /v1, /v1beta/openai. */
const VERSIONED = /\/v\d[^/]*(\/|$)/;
/** What a person takes over from an example together with the address. */
const OPERATION = /\/(chat\/completions|completions|embeddings|models)\/?$/;

/** Host and port: a path may hold a credential. */
export function addressOf(baseUrl: string): string {
  const { hostname, port, protocol } = new URL(baseUrl);
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
}

/** What is odd about the base URL of an endpoint that speaks OpenAI's protocol; undefined when nothing is. */
export function oddBaseUrl(baseUrl: string): string | undefined {
  const { pathname } = new URL(baseUrl);
  const operation = OPERATION.exec(pathname)?.[1];
  if (operation !== undefined) return `leave /${operation} out of base_url: it is added`;
  return VERSIONED.test(pathname) ? undefined : 'does base_url end in /v1?';
}
