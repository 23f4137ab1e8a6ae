import type { Route } from '#shared/kernel/inference.ts';
import { memberText, setMember } from '#shared/kernel/json-text.ts';
import { isObject, type JsonObject } from './json.ts';

/**
 * The body as one upstream is to get it: its own name for the model, and, in a stream, usage asked for.
 * Everything else keeps its bytes.
 */
export function upstreamBody(body: string, route: Route, model: string, stream: boolean): string {
  const named = setMember(body, 'model', JSON.stringify(model));
  // Its answer would be kept: nobody here asks for that.
  if (route === 'responses') return setMember(named, 'store', 'false');
  if (!stream || route === 'embeddings') return named;
  return setMember(named, 'stream_options', streamOptions(memberText(named, 'stream_options')));
}

function streamOptions(text: string | undefined): string {
  if (text === undefined || !text.startsWith('{')) return '{"include_usage":true}';
  return setMember(text, 'include_usage', 'true');
}

/**
 * The embeddings answer in the encoding that the client asked for, also when the upstream used the other one: a client that asked for
 * base64 and gets numbers would read a vector of a quarter of the length, silently. An answer that is right already
 * keeps its bytes.
 */
export function withEncodingAsked(text: string, parsed: JsonObject, body: string): string {
  const base64 = memberText(body, 'encoding_format') === '"base64"';
  const data = parsed['data'];
  if (!Array.isArray(data)) return text;
  let changed = false;
  for (const item of data) {
    if (!isObject(item)) continue;
    const { embedding } = item;
    if (base64 && Array.isArray(embedding)) {
      item['embedding'] = toBase64(embedding as number[]);
      changed = true;
    } else if (!base64 && typeof embedding === 'string') {
      item['embedding'] = fromBase64(embedding);
      changed = true;
    }
  }
  return changed ? JSON.stringify(parsed) : text;
}

/** Little-endian float32, as the SDKs decode it. */
function toBase64(values: number[]): string {
  const bytes = Buffer.allocUnsafe(values.length * 4);
  for (let i = 0; i < values.length; i += 1) bytes.writeFloatLE(values[i]!, i * 4);
  return bytes.toString('base64');
}

function fromBase64(text: string): number[] {
  const bytes = Buffer.from(text, 'base64');
  const values: number[] = [];
  for (let i = 0; i + 4 <= bytes.length; i += 4) values.push(bytes.readFloatLE(i));
  return values;
}
