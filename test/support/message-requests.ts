import fc from 'fast-check';

/** Requests for messages of Anthropic's interface, as valid as they are strange. */

const text = fc.string({ minLength: 1, maxLength: 24 });
const cached = { cache_control: fc.constantFrom(undefined, { type: 'ephemeral' }) };
const textBlock = fc.record({ type: fc.constant('text'), text, ...cached });
const base64 = fc.record({
  type: fc.constant('base64'),
  media_type: fc.constantFrom('image/png', 'application/pdf'),
  data: fc.constant('iVBORw0KGgo='),
});
const image = fc.record({
  type: fc.constant('image'),
  source: fc.oneof(base64, fc.constant({ type: 'url', url: 'https://pictures.example/a.png' })),
});
const document = fc.record({
  type: fc.constant('document'),
  source: fc.oneof(
    base64,
    fc.record({ type: fc.constant('text'), media_type: fc.constant('text/plain'), data: text }),
    fc.record({
      type: fc.constant('content'),
      content: fc.oneof(text, fc.array(fc.oneof(textBlock, image), { maxLength: 2 })),
    }),
  ),
  title: fc.option(text),
  context: fc.option(text),
});
const searchResult = fc.record({
  type: fc.constant('search_result'),
  source: text,
  title: text,
  content: fc.array(textBlock, { maxLength: 2 }),
});
const said = fc.oneof(textBlock, image, document, searchResult);
const id = fc.string({ minLength: 1, maxLength: 8 });
const toolResult = fc.record(
  {
    type: fc.constant('tool_result'),
    tool_use_id: id,
    content: fc.oneof(text, fc.array(said, { maxLength: 3 })),
    is_error: fc.boolean(),
  },
  { requiredKeys: ['type', 'tool_use_id'] },
);
const toolUse = fc.record({
  type: fc.constant('tool_use'),
  id,
  name: text,
  input: fc.dictionary(text, fc.oneof(text, fc.integer())),
});
const thinking = fc.record({
  type: fc.constant('thinking'),
  thinking: text,
  signature: fc.constantFrom('', 'c2ln'),
});
const redacted = fc.record({ type: fc.constant('redacted_thinking'), data: text });

const message = fc.oneof(
  fc.record({
    role: fc.constant('user'),
    content: fc.oneof(
      fc.string(),
      fc.array(fc.oneof(said, toolResult), { minLength: 1, maxLength: 4 }),
    ),
  }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.oneof(
      fc.string(),
      fc.array(fc.oneof(textBlock, thinking, redacted, toolUse), { maxLength: 4 }),
    ),
  }),
  fc.record({ role: fc.constant('system'), content: fc.oneof(text, fc.array(textBlock)) }),
);

const tool = fc.oneof(
  fc.record(
    {
      name: fc.string({ minLength: 1, maxLength: 12 }),
      type: fc.constantFrom('custom', null),
      description: text,
      input_schema: fc.constant({ type: 'object', properties: {} }),
      strict: fc.boolean(),
    },
    { requiredKeys: ['name', 'input_schema'] },
  ),
  fc.record({
    type: fc.constantFrom('web_search_20250305', 'bash_20250124', 'mcp_toolset'),
    name: fc.constantFrom('web_search', 'bash'),
    max_uses: fc.nat(),
  }),
);

export const messageRequest = fc.record(
  {
    model: fc.constant('m'),
    max_tokens: fc.integer({ min: 1, max: 4_096 }),
    messages: fc.array(message, { minLength: 1, maxLength: 5 }),
    system: fc.oneof(text, fc.array(textBlock, { maxLength: 3 })),
    stream: fc.boolean(),
    stop_sequences: fc.array(text, { maxLength: 4 }),
    temperature: fc.constantFrom(0, 0.5, 1),
    tools: fc.array(tool, { maxLength: 4 }),
    tool_choice: fc.constantFrom(
      { type: 'auto' },
      { type: 'any', disable_parallel_tool_use: true },
      { type: 'none' },
      { type: 'tool', name: 'web_search' },
    ),
    thinking: fc.constantFrom(
      { type: 'enabled', budget_tokens: 1_024 },
      { type: 'adaptive' },
      { type: 'disabled' },
    ),
    output_config: fc.record(
      {
        effort: fc.constantFrom('low', 'max', null),
        format: fc.constant({ type: 'json_schema', schema: { type: 'object' } }),
      },
      { requiredKeys: [] },
    ),
    metadata: fc.record({ user_id: text }),
    service_tier: fc.constant('auto'),
    container: fc.constant('container_1'),
  },
  { requiredKeys: ['model', 'max_tokens', 'messages'] },
);
