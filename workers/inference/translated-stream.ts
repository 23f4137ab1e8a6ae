import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { isObject, type JsonObject } from '#shared/kernel/json-object.ts';
import { answerIdIn, modelNamedIn } from './answer-names.ts';
import type { EventStream } from './event-relay.ts';
import { DENSE_CHARS, TOO_DENSE } from './long-answers.ts';
import { UpstreamError } from './providers/upstream-failure.ts';
import { logprobsIn } from './responses/output.ts';
import { StreamAccount } from './stream-account.ts';
import { usageIn } from './usage.ts';

/** Writes the answer of a chat server in another interface: an object in the end, and the events that lead to it. */
export interface AnswerWriter {
  /** Announces the answer. */
  begin(): void;
  /** Takes a choice of a chat completion, or a piece of one. */
  take(choice: JsonObject): void;
  /**
   * Ends what is open, and returns the answer.
   * @param isFinished whether its server says that the answer is whole
   */
  end(usage: Usage | UnknownUsage, reasoningTokens: number, isFinished?: boolean): JsonObject;
  /** The items of a response as far as they came; absent of other answers. */
  output?(): JsonObject[];
  /** The last event of the stream. */
  lastEvent(answer: JsonObject): string;
}

/** The tokens of an answer of a chat server that it spent on reasoning, where it says so. */
function reasoningTokensIn(usage: unknown): number {
  const details = isObject(usage) ? usage['completion_tokens_details'] : undefined;
  const tokens = isObject(details) ? details['reasoning_tokens'] : undefined;
  return Number.isSafeInteger(tokens) && (tokens as number) > 0 ? (tokens as number) : 0;
}

/** A whole chat completion, as a writer has it. */
export function answerOfChat(
  writer: AnswerWriter,
  chat: JsonObject,
  usage: Usage | UnknownUsage,
  isFinished: boolean,
): JsonObject {
  const [choice] = chat['choices'] as unknown[];
  if (isObject(choice)) writer.take(choice);
  return writer.end(usage, reasoningTokensIn(chat['usage']), isFinished);
}

const LOGPROBS_CHARS_MAX = DENSE_CHARS / 2;

/** The chunks of a chat server as events that a writer makes of them. */
export class TranslatedStream implements EventStream {
  readonly #writer: AnswerWriter;
  readonly #account = new StreamAccount('delta');
  #hasBegun = false;
  #reasoningTokens = 0;
  /** Characters of the chunks that had them. */
  #odds = 0;

  constructor(writer: AnswerWriter, energy: Endpoint['energy']) {
    this.#writer = writer;
    this.#account.readFrom(energy);
  }

  get usage(): Usage | undefined {
    return this.#account.usage;
  }

  get isUsageOfAll(): boolean {
    return this.#account.isUsageOfAll;
  }

  get texts(): readonly string[] {
    return this.#account.texts;
  }

  /** A writer keeps what was said once more, for its last event or until its turn comes, with the odds of its tokens. */
  get kept(): number {
    return this.#account.kept + this.#account.chars + this.#odds;
  }

  get upstreamAnswerId(): string | undefined {
    return answerIdIn(this.#account.first);
  }

  get modelNamed(): string | undefined {
    return modelNamedIn(this.#account.first);
  }

  get isFinished(): boolean {
    return this.#account.isFinished;
  }

  /** @throws UpstreamError also where there are too many log probabilities */
  accept(given: string, chunk: JsonObject): boolean {
    this.#reasoningTokens = reasoningTokensIn(usageIn(chunk)) || this.#reasoningTokens;
    const noted = this.#account.note(chunk);
    if (noted === undefined) return false;
    if (noted.choices.some((choice) => logprobsIn(choice).length > 0)) this.#odds += given.length;
    // Several events with which an answer ends hold all of them.
    if (this.#odds > LOGPROBS_CHARS_MAX) throw new UpstreamError(TOO_DENSE);
    if (!this.#hasBegun) this.#writer.begin();
    this.#hasBegun = true;
    // One answer was asked for.
    for (const choice of noted.choices) if (choice['index'] === 0) this.#writer.take(choice);
    return noted.speaks;
  }

  output(): JsonObject[] {
    return this.#writer.output?.() ?? [];
  }

  finish(usage: Usage | UnknownUsage): string {
    return this.#writer.lastEvent(this.#writer.end(usage, this.#reasoningTokens));
  }
}
