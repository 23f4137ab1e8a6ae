import type { ServerResponse } from 'node:http';
import { NotingUpstream } from './noting-upstream.ts';

type Json = Record<string, unknown>;

/** A server that speaks OpenAI's responses, as its documentation shows them. */
export class ResponsesUpstream extends NotingUpstream {
  /** What becomes of the next calls: whole, cut after some events, failed in the middle, or still open after some events. */
  behaviour: { kind: 'whole' | 'cut' | 'failed' | 'open'; after?: number } = { kind: 'whole' };

  protected override answerTo(body: Json, response: ServerResponse): void {
    if (body['stream'] === true) this.#stream(body, response);
    else response.writeHead(200, JSON_TYPE).end(JSON.stringify(responseTo(body)));
  }

  #stream(body: Json, response: ServerResponse): void {
    const { kind, after = 0 } = this.behaviour;
    const events = eventsTo(body);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const sent = kind === 'whole' ? events : events.slice(0, after);
    for (const [at, event] of sent.entries()) write(response, event, at);
    if (kind === 'failed') {
      const failed = { ...responseTo(body), status: 'failed', output: [] };
      const error = { code: 'server_error', message: 'out of memory' };
      write(response, { type: 'response.failed', response: { ...failed, error } }, sent.length);
    }
    if (kind !== 'open') response.end();
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };
const TEXT = 'The lamp turns every ten seconds.';
const REASONING = {
  id: 'rs_up',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Lamps turn.' }],
  encrypted_content: 'gAAAAABsealed',
};
const part = { type: 'output_text', text: TEXT, annotations: [], logprobs: [] };
const MESSAGE = {
  id: 'msg_up',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [part],
};

function responseTo({ model, instructions = null }: Json): Json {
  return {
    id: 'resp_of_the_upstream',
    object: 'response',
    created_at: 1_795_167_485,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions,
    model: `${String(model)}-2026-01-01`,
    output: [REASONING, MESSAGE],
    parallel_tool_calls: true,
    previous_response_id: null,
    store: true,
    temperature: 1.0,
    tool_choice: 'auto',
    tools: [],
    top_p: 1.0,
    usage: {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 3 },
      output_tokens: 17,
      output_tokens_details: { reasoning_tokens: 9 },
      total_tokens: 28,
    },
  };
}

function eventsTo(body: Json): Json[] {
  const whole = responseTo(body);
  const begun = { ...whole, status: 'in_progress', output: [], usage: null };
  const place = { item_id: 'msg_up', output_index: 1, content_index: 0 };
  const inReasoning = { item_id: 'rs_up', output_index: 0, summary_index: 0 };
  const summary = REASONING.summary[0]!;
  const empty = { ...part, text: '' };
  const deltas = TEXT.split(/(?<= )/).map((delta) => ({
    type: 'response.output_text.delta',
    ...place,
    delta,
    logprobs: [],
  }));
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    { type: 'response.output_item.added', output_index: 0, item: { ...REASONING, summary: [] } },
    {
      type: 'response.reasoning_summary_part.added',
      ...inReasoning,
      part: { ...summary, text: '' },
    },
    { type: 'response.reasoning_summary_text.delta', ...inReasoning, delta: summary.text },
    { type: 'response.reasoning_summary_text.done', ...inReasoning, text: summary.text },
    { type: 'response.reasoning_summary_part.done', ...inReasoning, part: summary },
    { type: 'response.output_item.done', output_index: 0, item: REASONING },
    {
      type: 'response.output_item.added',
      output_index: 1,
      item: { ...MESSAGE, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...place, part: empty },
    ...deltas,
    { type: 'response.output_text.done', ...place, text: TEXT, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index: 1, item: MESSAGE },
    { type: 'response.completed', response: whole },
  ];
}

function write(response: ServerResponse, { type, ...rest }: Json, at: number): void {
  const data = JSON.stringify({ type, sequence_number: at, ...rest });
  response.write(`event: ${String(type)}\ndata: ${data}\n\n`);
}
