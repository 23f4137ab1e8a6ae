import type { ChatPrompt } from './chat-prompt.ts';
import { BadRequest, type Input } from './input.ts';
import type { Random } from './random.ts';
import { schemaValue } from './schema-value.ts';

export interface ToolCall {
  id: string;
  name: string;
  /** JSON that satisfies the tool's schema. */
  arguments: string;
}

interface Tool {
  name: string;
  parameters: unknown;
}

function readTools(input: Input): Tool[] {
  return input.list('tools').map((entry, index) => {
    const declared = (entry as { function?: { name?: unknown; parameters?: unknown } } | null)
      ?.function;
    if (typeof declared?.name !== 'string' || declared.name === '') {
      throw new BadRequest('A tool needs function.name.', `tools[${index}].function.name`);
    }
    return { name: declared.name, parameters: declared.parameters ?? { type: 'object' } };
  });
}

/** A question names a tool by its name, or by the words in it: `get_weather`, "get weather". */
function names(question: string, tool: Tool): boolean {
  const plain = question.toLowerCase();
  const name = tool.name.toLowerCase();
  return plain.includes(name) || plain.includes(name.replaceAll(/[_-]+/g, ' '));
}

function chosen(input: Input, prompt: ChatPrompt, tools: readonly Tool[]): readonly Tool[] {
  const choice = input.body['tool_choice'] ?? 'auto';
  if (tools.length === 0 || choice === 'none') return [];
  if (choice === 'required') {
    const named = tools.filter((tool) => names(prompt.question, tool));
    return named.length > 0 ? named : tools.slice(0, 1);
  }
  if (choice === 'auto') {
    return prompt.answersTool ? [] : tools.filter((tool) => names(prompt.question, tool));
  }
  const wanted = (choice as { function?: { name?: unknown } }).function?.name;
  const found = tools.filter((tool) => tool.name === wanted);
  if (found.length === 0)
    throw new BadRequest('tool_choice names no tool of the request.', 'tool_choice');
  return found;
}

function toolCallId(random: Random): string {
  let id = 'call_';
  while (id.length < 29) id += Math.floor(random() * 36).toString(36);
  return id;
}

/**
 * The calls that an answer makes: what `tool_choice` demands, else the tools that the last question
 * names. None means that the answer is text.
 */
export function chooseTools(input: Input, prompt: ChatPrompt): (random: Random) => ToolCall[] {
  const tools = chosen(input, prompt, readTools(input));
  const several = input.body['parallel_tool_calls'] !== false;
  return (random) =>
    (several ? tools : tools.slice(0, 1)).map((tool) => ({
      id: toolCallId(random),
      name: tool.name,
      arguments: JSON.stringify(schemaValue(tool.parameters, random)),
    }));
}

/** Writes the JSON text that `response_format` asks for, or `undefined` where plain text is wanted. */
export function structuredAnswer(input: Input): (random: Random) => string | undefined {
  const format = input.object('response_format');
  switch (format['type']) {
    case 'json_schema': {
      const declared = format['json_schema'] as { schema?: unknown } | undefined;
      return (random) => JSON.stringify(schemaValue(declared?.schema, random));
    }
    case 'json_object':
      return (random) =>
        JSON.stringify({
          answer: schemaValue({ type: 'string' }, random),
          lines: 1 + Math.floor(random() * 9),
        });
    case undefined:
    case 'text':
      return () => undefined;
    default:
      throw new BadRequest(
        'response_format.type must be text, json_object or json_schema.',
        'response_format',
      );
  }
}
