import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider';
import type { TakesUrl } from './files.ts';
import { isObject, type Json, listOf, numberOf, textOf } from '#shared/kernel/json-object.ts';
import { promptOf } from './prompt.ts';
import { Untranslatable } from './untranslatable.ts';

type Reasoning = NonNullable<LanguageModelV4CallOptions['reasoning']>;

/** What changes an answer's shape or meaning and has no native counterpart: refused, never dropped. */
const REFUSED = ['logprobs', 'top_logprobs', 'logit_bias', 'audio', 'prediction'] as const;
const EFFORTS: readonly string[] = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
] satisfies Reasoning[];

/** A chat request in the terms of the AI SDK. @throws Untranslatable */
export function callOptionsOf(body: Json, takesUrl: TakesUrl): LanguageModelV4CallOptions {
  refuseWhatIsLost(body);
  return defined({
    prompt: promptOf(body['messages'], takesUrl),
    maxOutputTokens: numberOf(body['max_completion_tokens']) ?? numberOf(body['max_tokens']),
    temperature: numberOf(body['temperature']),
    topP: numberOf(body['top_p']),
    // -1 and 0 switch it off.
    topK: positive(body['top_k']),
    presencePenalty: nonZero(body['presence_penalty']),
    frequencyPenalty: nonZero(body['frequency_penalty']),
    seed: numberOf(body['seed']),
    stopSequences: stopsOf(body['stop']),
    responseFormat: responseFormatOf(body['response_format']),
    tools: toolsOf(body),
    toolChoice: toolChoiceOf(body['tool_choice'] ?? body['function_call']),
    reasoning: reasoningOf(body['reasoning_effort']),
    providerOptions:
      body['parallel_tool_calls'] === false
        ? { anthropic: { disableParallelToolUse: true } }
        : undefined,
  });
}

/** The library's highest is `xhigh`. */
function reasoningOf(effort: unknown): Reasoning | undefined {
  const known = effort === 'max' ? 'xhigh' : textOf(effort);
  return known !== undefined && EFFORTS.includes(known) ? (known as Reasoning) : undefined;
}

function refuseWhatIsLost(body: Json): void {
  for (const field of REFUSED) {
    const value = body[field];
    const isSet = isObject(value) ? Object.keys(value).length > 0 : Boolean(value);
    if (isSet) throw new Untranslatable(field, `This model has no \`${field}\`.`);
  }
  if ((numberOf(body['n']) ?? 1) > 1) {
    throw new Untranslatable('n', 'This model gives one choice per request.');
  }
  if (listOf(body['modalities']).some((modality) => modality !== 'text')) {
    throw new Untranslatable('modalities', 'This model answers in text.');
  }
}

function stopsOf(stop: unknown): string[] | undefined {
  const stops = typeof stop === 'string' ? [stop] : listOf(stop).map(String);
  return stops.length === 0 ? undefined : stops;
}

function responseFormatOf(format: unknown): LanguageModelV4CallOptions['responseFormat'] {
  if (!isObject(format) || format['type'] === 'text') return undefined;
  if (format['type'] === 'json_object') return { type: 'json' };
  const asked = format['json_schema'];
  if (format['type'] !== 'json_schema' || !isObject(asked)) {
    throw new Untranslatable('response_format', 'This model has no such response format.');
  }
  return defined({
    type: 'json' as const,
    schema: isObject(asked['schema']) ? asked['schema'] : undefined,
    name: textOf(asked['name']),
    description: textOf(asked['description']),
  });
}

function toolsOf(body: Json): LanguageModelV4FunctionTool[] | undefined {
  const tools = listOf(body['tools']).map((tool, index) => {
    const definition = isObject(tool) ? tool['function'] : undefined;
    if (!isObject(definition)) {
      throw new Untranslatable(`tools[${index}]`, 'This model takes functions as tools only.');
    }
    return toolOf(definition);
  });
  tools.push(...listOf(body['functions']).filter(isObject).map(toolOf));
  return tools.length === 0 ? undefined : tools;
}

function toolOf(definition: Json): LanguageModelV4FunctionTool {
  const parameters = isObject(definition['parameters']) ? definition['parameters'] : undefined;
  return {
    type: 'function',
    name: textOf(definition['name']) ?? '',
    inputSchema: parameters ?? { type: 'object', properties: {} },
    ...defined({
      description: textOf(definition['description']),
      strict: typeof definition['strict'] === 'boolean' ? definition['strict'] : undefined,
    }),
  };
}

function toolChoiceOf(choice: unknown): LanguageModelV4ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined;
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice };
  if (!isObject(choice)) throw new Untranslatable('tool_choice', 'This model has no such choice.');
  const named = isObject(choice['function']) ? choice['function'] : choice;
  const toolName = textOf(named['name']);
  if (toolName === undefined) {
    throw new Untranslatable('tool_choice', 'This model can be made to call a function only.');
  }
  return { type: 'tool', toolName };
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}

/** Zero is the default everywhere; saying it would only make a provider warn that it has no such setting. */
function nonZero(value: unknown): number | undefined {
  return typeof value === 'number' && value !== 0 ? value : undefined;
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Without the members that are undefined: providers look at what is there. */
function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Defined<T>;
}
