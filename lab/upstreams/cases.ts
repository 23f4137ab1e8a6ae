/** A request as a client of OpenAI's would make it. */
export interface Case {
  path: string;
  body: Record<string, unknown>;
  headers?: Record<string, string>;
}

const QUESTION = [{ role: 'user', content: 'Tell me about the lighthouse.' }];
/** More than the 1,024 tokens that every server here has a window for. */
const LONG = 'The sea and the wind. '.repeat(200);
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Oslo', 'Bergen'] } },
      required: ['city'],
    },
  },
};
const CITY = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Oslo', 'Bergen'] } },
  required: ['city'],
  additionalProperties: false,
};
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

/** What every server is asked; its answers are recorded. A model of noise needs few tokens to show its server's form. */
export function cases(model: string, namesTool = false): Record<string, Case> {
  const chat = (more: Record<string, unknown> = {}): Case => ({
    path: '/v1/chat/completions',
    body: { model, messages: QUESTION, max_tokens: 4, seed: 1, ...more },
  });
  const stream = (more: Record<string, unknown> = {}): Case => chat({ stream: true, ...more });
  const byName = { type: 'function', function: { name: WEATHER.function.name } };
  const tools = {
    tools: [WEATHER],
    tool_choice: namesTool ? byName : 'required',
    parallel_tool_calls: false,
    // The token that begins a call.
    logit_bias: { '3': 100 },
    max_tokens: 200,
  };
  const schema = (of: unknown): Record<string, unknown> => ({
    max_tokens: 200,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'city', strict: true, schema: of },
    },
  });
  const image = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: PIXEL } },
  ];
  return {
    chat: chat(),
    stream: stream(),
    'stream-with-usage': stream({ stream_options: { include_usage: true } }),
    completion: { path: '/v1/completions', body: { model, prompt: 'The sea', max_tokens: 4 } },
    'completion-stream': {
      path: '/v1/completions',
      body: { model, prompt: 'The sea', max_tokens: 4, stream: true },
    },
    'completion-of-two-prompts': {
      path: '/v1/completions',
      body: { model, prompt: ['The sea', 'The wind'], max_tokens: 4 },
    },
    embeddings: { path: '/v1/embeddings', body: { model, input: ['The sea', 'The wind'] } },
    'embeddings-too-long': { path: '/v1/embeddings', body: { model, input: LONG } },
    tools: chat(tools),
    'tools-stream': stream(tools),
    'json-schema': chat(schema(CITY)),
    'schema-that-is-none': chat(schema({ type: 'wombat' })),
    stop: chat({ stop: ['e'], max_tokens: 100 }),
    'two-choices': chat({ n: 2 }),
    'two-choices-stream': stream({ n: 2, stream_options: { include_usage: true } }),
    logprobs: chat({ logprobs: true, top_logprobs: 1, max_tokens: 2 }),
    'too-long': chat({ messages: [{ role: 'user', content: LONG }] }),
    'too-long-stream': stream({ messages: [{ role: 'user', content: LONG }] }),
    'image-to-a-text-model': chat({ messages: [{ role: 'user', content: image }] }),
    'unknown-model': chat({ model: 'someone-elses/model' }),
    'wrong-type': chat({ temperature: 'hot' }),
    'wrong-path': { ...chat(), path: '/v1/v1/chat/completions' },
    'request-id-of-ours': {
      ...chat(),
      headers: { 'x-request-id': 'req_01K9Z0M3V4X5Y6Z7A8B9C0D1E2' },
    },
    'wrong-credential': { ...chat(), headers: { authorization: 'Bearer wrong' } },
  };
}

/** An answer as long as the window allows: one that is still being made when something happens to it. */
export function longStream(model: string): Case {
  const messages = [{ role: 'user', content: 'Tell me everything about the sea.' }];
  const body = { model, messages, max_tokens: 900, stream: true };
  return { path: '/v1/chat/completions', body };
}
