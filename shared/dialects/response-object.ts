import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import type { JsonObject } from '#shared/kernel/json-object.ts';
import { answeredMetadata, type ChatTools } from './response-tools.ts';

/** What a response is known by. */
export interface ResponseNames {
  requestId: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** The model's id in the catalogue. */
  model: string;
  /** The id of the response that it goes on from. */
  previous?: string | undefined;
}

/** A response without output: what its request says is repeated, and what was not set is as OpenAI has it, or null. */
export function emptyResponse(
  { requestId, startedAt, model, previous }: ResponseNames,
  status: string,
  request: JsonObject = {},
  tools?: Pick<ChatTools, 'choice' | 'ignored'>,
): JsonObject {
  const asked = (name: string, otherwise: unknown = null): unknown => request[name] ?? otherwise;
  const { choice, ignored = [] } = tools ?? {};
  return {
    id: answerIdOf('responses', requestId),
    object: 'response',
    created_at: Math.floor(startedAt / 1_000),
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: asked('instructions'),
    max_output_tokens: asked('max_output_tokens'),
    max_tool_calls: asked('max_tool_calls'),
    metadata: answeredMetadata(asked('metadata', {}) as JsonObject, ignored),
    model,
    output: [],
    parallel_tool_calls: asked('parallel_tool_calls', true),
    previous_response_id: previous ?? null,
    prompt_cache_key: asked('prompt_cache_key'),
    reasoning: { effort: null, summary: null, ...(asked('reasoning', {}) as object) },
    safety_identifier: asked('safety_identifier'),
    service_tier: 'default',
    store: false,
    temperature: asked('temperature'),
    text: { format: { type: 'text' }, ...present(asked('text', {}) as JsonObject) },
    tool_choice: choice ?? 'auto',
    tools: (asked('tools', []) as JsonObject[]).map(toolEcho),
    top_logprobs: asked('top_logprobs', 0),
    top_p: asked('top_p'),
    truncation: 'disabled',
    usage: null,
    user: asked('user'),
  };
}

/** Strict clients want both of these on every function. */
function toolEcho(tool: JsonObject): JsonObject {
  return tool['type'] === 'function' ? { parameters: null, strict: null, ...tool } : tool;
}

function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
}
