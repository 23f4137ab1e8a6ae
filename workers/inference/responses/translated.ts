import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { answerIdIn, modelNamedIn } from '../answer-names.ts';
import { StreamAccount } from '../stream-account.ts';
import { usageIn } from '../usage.ts';
import { isObject, type JsonObject } from '#shared/kernel/json-object.ts';
import { logprobsIn } from './output.ts';
import type { ResponseStream } from './relay.ts';
import { ResponseWriter, type ResponseWriterOptions } from './response-writer.ts';

/** The tokens of an answer of a chat server that it spent on reasoning, where it says so. */
function reasoningTokensIn(usage: unknown): number {
  const details = isObject(usage) ? usage['completion_tokens_details'] : undefined;
  const tokens = isObject(details) ? details['reasoning_tokens'] : undefined;
  return Number.isSafeInteger(tokens) && (tokens as number) > 0 ? (tokens as number) : 0;
}

/** A chat completion as a response. */
export function responseOfChat(
  options: Omit<ResponseWriterOptions, 'emit'>,
  chat: JsonObject,
  usage: Usage | UnknownUsage,
  isFinished: boolean,
): JsonObject {
  const writer = new ResponseWriter(options);
  const [choice] = chat['choices'] as unknown[];
  if (isObject(choice)) writer.take(choice);
  return writer.end(usage, reasoningTokensIn(chat['usage']), isFinished);
}

/** The chunks of a chat server as events of a response. */
export class TranslatedStream implements ResponseStream {
  readonly #writer: ResponseWriter;
  readonly #account = new StreamAccount('delta');
  #hasBegun = false;
  #reasoningTokens = 0;
  /** Characters of the chunks that had them. */
  #odds = 0;

  constructor(
    options: ResponseWriterOptions & { emit: (payload: string) => void },
    energy: Endpoint['energy'],
  ) {
    this.#writer = new ResponseWriter(options);
    this.#account.readFrom(energy);
  }

  get usage(): Usage | undefined {
    return this.#account.usage;
  }

  get texts(): readonly string[] {
    return this.#account.texts;
  }

  /** The last event repeats all that was said, with the odds of its tokens. */
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

  accept(given: string, chunk: JsonObject): boolean {
    this.#reasoningTokens = reasoningTokensIn(usageIn(chunk)) || this.#reasoningTokens;
    const noted = this.#account.note(chunk);
    if (noted === undefined) return false;
    if (noted.choices.some((choice) => logprobsIn(choice).length > 0)) this.#odds += given.length;
    if (!this.#hasBegun) this.#writer.begin();
    this.#hasBegun = true;
    // One answer was asked for.
    for (const choice of noted.choices) if (choice['index'] === 0) this.#writer.take(choice);
    return noted.speaks;
  }

  finish(usage: Usage | UnknownUsage): string {
    const response = this.#writer.end(usage, this.#reasoningTokens);
    return this.#writer.lastEvent(response);
  }
}
