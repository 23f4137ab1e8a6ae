import { codeOf, type Sample } from '#api/docs/page/samples.ts';

/** What is typed in the playground; an empty text is not sent. */
export interface Fields {
  model: string;
  region: string;
  system: string;
  prompt: string;
  temperature: string;
  max_tokens: string;
  top_p: string;
  seed: string;
  /** One sequence a line. */
  stop: string;
  /** A JSON array. */
  tools: string;
  stream: boolean;
}

/** Fields that are numbers. */
const NUMBERS = ['temperature', 'max_tokens', 'top_p', 'seed'] as const;

/** More than any model takes, and less than the largest body. */
export const TEXT_CHARS_MAX = 400_000;

/** Deeper than any tool is nested, and no deeper than the api reads a body. */
const TOOLS_DEPTH_MAX = 100;

/** The body that the fields make, for the server and for the browser; or what is wrong with them, in words. */
export function bodyOf(
  fields: Fields,
): { body: Readonly<Record<string, unknown>> } | { problem: string } {
  const { model, region, system, prompt, stream } = fields;
  const body: Record<string, unknown> = {
    model: model.trim(),
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: prompt },
    ],
  };
  for (const name of NUMBERS) {
    const typed = fields[name].trim();
    if (typed === '') continue;
    const number = Number(typed);
    if (!Number.isFinite(number))
      return { problem: `${name} must be a number, and is “${typed.slice(0, 40)}”.` };
    body[name] = number;
  }
  const stop = fields.stop.split('\n').filter((line) => line !== '');
  if (stop.length > 0) body['stop'] = stop;
  if (fields.tools.trim() !== '') {
    try {
      body['tools'] = JSON.parse(fields.tools);
    } catch (error) {
      return { problem: `The tools are not JSON: ${(error as Error).message}` };
    }
    // What writes the body and its code would be taken down by a text of brackets alone.
    if (isDeeper(body['tools'], TOOLS_DEPTH_MAX))
      return { problem: `The tools are nested more than ${TOOLS_DEPTH_MAX} levels deep.` };
  }
  if (region.trim() !== '') body['region'] = region.trim();
  if (stream) {
    body['stream'] = true;
    body['stream_options'] = { include_usage: true };
  }
  return { body };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** How programs make the same call, with a key of their own. */
export function codeOfBody(baseUrl: string, body: object): Sample[] {
  const samples = codeOf({
    method: 'POST',
    url: `${baseUrl}/chat/completions`,
    headers: [['Content-Type', 'application/json']],
    hasKey: true,
    isRepeatable: true,
    body,
    file: undefined,
  });
  // It names no type, so that it is one as well as the other.
  return samples.map(({ language, code }) => ({
    language: language === 'TypeScript' ? 'JavaScript' : language,
    code,
  }));
}
