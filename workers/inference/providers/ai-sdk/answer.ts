import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';

/** What all parts of one answer share. */
export interface AnswerHead {
  id: string;
  /** Epoch seconds. */
  created: number;
  /** The model as the upstream is asked for it. */
  model: string;
}

/** Null where the provider did not finish its answer. */
const FINISH_REASONS: Readonly<Record<LanguageModelV4FinishReason['unified'], string | null>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: null,
  interrupted: null,
  other: 'stop',
};

/** A reason that the library does not know is one; that there was none it says in the same word. */
export function finishReasonOf({ unified, raw }: LanguageModelV4FinishReason): string | null {
  return unified === 'other' && (raw ?? '') === '' ? null : FINISH_REASONS[unified];
}

/** Usage in OpenAI's shape, or undefined when the provider told none: it is counted then. Zero is a count. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): object | undefined {
  const prompt = inputTokens.total;
  const completion = outputTokens.total;
  if (prompt === undefined || completion === undefined) return undefined;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: inputTokens.cacheRead ?? 0 },
    completion_tokens_details: { reasoning_tokens: outputTokens.reasoning ?? 0 },
  };
}

/** A whole answer as the JSON text of a chat completion. */
export function chatCompletion(head: AnswerHead, result: LanguageModelV4GenerateResult): string {
  const usage = usageOf(result.usage);
  return JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: messageOf(result.content),
        logprobs: null,
        finish_reason: finishReasonOf(result.finishReason),
      },
    ],
    ...(usage === undefined ? {} : { usage }),
  });
}

function messageOf(content: readonly LanguageModelV4Content[]): object {
  let text = '';
  let reasoning = '';
  const calls: object[] = [];
  for (const part of content) {
    if (part.type === 'text') text += part.text;
    else if (part.type === 'reasoning') reasoning += part.text;
    else if (part.type === 'tool-call' && part.providerExecuted !== true) {
      const called = { name: part.toolName, arguments: part.input };
      calls.push({ id: part.toolCallId, type: 'function', function: called });
    }
  }
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}
