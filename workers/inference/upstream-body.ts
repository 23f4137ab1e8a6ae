import type { Route } from '#shared/kernel/inference.ts';
import { memberText, setMember } from '#shared/kernel/json-text.ts';

/**
 * The body as one upstream is to get it: its own name for the model, and, in a stream, usage asked for.
 * Everything else keeps its bytes.
 */
export function upstreamBody(body: string, route: Route, model: string, stream: boolean): string {
  const named = setMember(body, 'model', JSON.stringify(model));
  if (!stream || route === 'embeddings') return named;
  return setMember(named, 'stream_options', streamOptions(memberText(named, 'stream_options')));
}

function streamOptions(text: string | undefined): string {
  if (text === undefined || !text.startsWith('{')) return '{"include_usage":true}';
  return setMember(text, 'include_usage', 'true');
}
