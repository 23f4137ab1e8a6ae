import Type from 'typebox';
import { maybe } from './fields.ts';

/** OpenAI documents at most 128 functions; its clients never send more. */
const TOOLS_MAX = 128;
/** OpenAI documents 64 characters; other upstreams take 128. */
const NAME_CHARS_MAX = 128;

const Name = Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX });

const FunctionDefinition = Type.Object({
  name: Name,
  description: maybe(Type.String()),
  parameters: maybe(Type.Object({}, { description: 'A JSON Schema. Passed on as it is.' })),
});

const Tool = Type.Union(
  [
    Type.Object({ type: Type.Literal('function'), function: FunctionDefinition }),
    Type.Object({ type: Type.Literal('custom'), custom: Type.Object({ name: Name }) }),
  ],
  { title: 'Tool', 'x-expected': 'a tool: an object with `type` and its definition' },
);

const ToolChoice = Type.Union(
  [
    Type.Enum(['none', 'auto', 'required']),
    Type.Object({ type: Type.Literal('function'), function: Type.Object({ name: Name }) }),
    Type.Object({ type: Type.Literal('custom'), custom: Type.Object({ name: Name }) }),
    Type.Object({ type: Type.Literal('allowed_tools'), allowed_tools: Type.Object({}) }),
  ],
  { 'x-expected': '`none`, `auto`, `required` or an object that names a tool' },
);

const ResponseFormat = Type.Union(
  [
    Type.Object({ type: Type.Enum(['text', 'json_object']) }),
    Type.Object({ type: Type.Literal('json_schema'), json_schema: Type.Object({}) }),
    // Constrained decoding of open-source servers: checked by them.
    Type.Object({ type: Type.Enum(['structural_tag', 'grammar', 'regex']) }),
  ],
  { 'x-expected': 'an object with `type`' },
);

export const toolFields = {
  tools: maybe(Type.Array(Tool, { maxItems: TOOLS_MAX })),
  tool_choice: maybe(ToolChoice),
  parallel_tool_calls: maybe(Type.Boolean()),
  response_format: maybe(ResponseFormat),
  // The names of these two before tools existed.
  functions: maybe(Type.Array(FunctionDefinition, { minItems: 1, maxItems: TOOLS_MAX })),
  function_call: maybe(
    Type.Union([Type.Enum(['none', 'auto']), Type.Object({ name: Name })], {
      'x-expected': '`none`, `auto` or an object with `name`',
    }),
  ),
};
