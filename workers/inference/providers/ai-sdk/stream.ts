import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type AnswerHead, finishReasonOf, usageOf } from './answer.ts';

/** How a stream ended, once it has. */
export type StreamEnd = { clean: boolean } | { error: unknown };

interface ToolCall {
  index: number;
  /** Characters of the arguments sent on so far. */
  sent: number;
}

/**
 * Turns the parts of a provider's stream into chunks of a chat completion: one id and time for all of them, tool calls
 * with the index of their first appearance.
 */
export class ChunkWriter {
  readonly #head: AnswerHead;
  readonly #send: (payload: string) => void;
  readonly #calls = new Map<string, ToolCall>();
  #begun = false;

  constructor(head: AnswerHead, send: (payload: string) => void) {
    this.#head = head;
    this.#send = send;
  }

  /** Takes one part; returns how the stream ended when that was its last. */
  take(part: LanguageModelV4StreamPart): StreamEnd | null {
    switch (part.type) {
      case 'response-metadata':
        this.#begin();
        return null;
      case 'text-delta':
        this.#delta({ content: part.delta });
        return null;
      case 'reasoning-delta':
        this.#delta({ reasoning_content: part.delta });
        return null;
      case 'tool-input-start':
        if (part.providerExecuted !== true) this.#startCall(part.id, part.toolName);
        return null;
      case 'tool-input-delta':
        this.#continueCall(part.id, part.delta);
        return null;
      case 'tool-call':
        if (part.providerExecuted === true) return null;
        this.#startCall(part.toolCallId, part.toolName);
        this.#finishCall(part.toolCallId, part.input);
        return null;
      case 'finish':
        return this.#finish(part);
      case 'error':
        return { error: part.error };
      // Begins and ends of blocks, sources, files, signs of life: nothing that a chunk could say.
      case 'stream-start':
      case 'text-start':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
      case 'reasoning-file':
      case 'tool-input-end':
      case 'tool-result':
      case 'tool-approval-request':
      case 'source':
      case 'file':
      case 'custom':
      case 'raw':
      case 'ping':
    }
    return null;
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#chunk({ role: 'assistant', content: '' }, null);
  }

  #delta(delta: object): void {
    this.#begin();
    this.#chunk(delta, null);
  }

  #startCall(id: string, name: string): void {
    if (this.#calls.has(id)) return;
    const index = this.#calls.size;
    this.#calls.set(id, { index, sent: 0 });
    const called = { name, arguments: '' };
    this.#delta({ tool_calls: [{ index, id, type: 'function', function: called }] });
  }

  #continueCall(id: string, text: string): void {
    const call = this.#calls.get(id);
    if (call === undefined || text === '') return;
    call.sent += text.length;
    this.#delta({ tool_calls: [{ index: call.index, function: { arguments: text } }] });
  }

  /** Some providers give the arguments piece by piece, others only here. */
  #finishCall(id: string, input: string): void {
    if (this.#calls.get(id)!.sent === 0) this.#continueCall(id, input);
  }

  #finish(part: Extract<LanguageModelV4StreamPart, { type: 'finish' }>): StreamEnd {
    const { finishReason } = part;
    if (finishReason.unified === 'interrupted') return { clean: false };
    if (finishReason.unified === 'error') {
      return { error: new Error(`the provider stopped: ${finishReason.raw ?? 'no reason given'}`) };
    }
    this.#begin();
    this.#chunk({}, finishReasonOf(finishReason));
    const usage = usageOf(part.usage);
    if (usage !== undefined) this.#payload({ choices: [], usage });
    return { clean: true };
  }

  #chunk(delta: object, finishReason: string | null): void {
    this.#payload({
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    });
  }

  #payload(rest: object): void {
    this.#send(JSON.stringify({ ...this.#head, object: 'chat.completion.chunk', ...rest }));
  }
}
