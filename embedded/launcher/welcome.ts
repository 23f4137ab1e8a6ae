import type { DevFile } from './dev-file.ts';

/** What a person needs to see when everything is ready: where, with which key, and something to try. */
export function welcome(info: DevFile, chatModel: string | undefined, tookMs: number): string {
  const body = JSON.stringify({
    model: chatModel ?? '<model>',
    messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
  });
  return `
  Docket is ready, after ${(tookMs / 1_000).toFixed(1)} s. Stop it with Ctrl-C.

  base URL    ${info.base_url}
  API key     ${info.api_key}   (demo organisation, enterprise)
  reference   ${info.base_url.replace(/\/v1$/, '/docs')}

  curl ${info.base_url}/chat/completions \\
    -H 'Authorization: Bearer ${info.api_key}' \\
    -H 'Content-Type: application/json' \\
    -d '${body}'
`;
}
