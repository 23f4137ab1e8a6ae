import { inputItems, type ItemsPage } from './kept/conversation.ts';
import type { Before } from './kept/kept-responses.ts';
import {
  goOn,
  type ParsedBody,
  type RawRequest,
  read,
  type ReadDeps,
  type Unrouted,
} from './read.ts';
import {
  countPrompt,
  type Read,
  type ReadingModel,
  readPrompt,
  type ReadPromptDeps,
  type ReadPromptOptions,
} from './read-prompt.ts';

/** Reads the body of one request, in these steps: here for most, on a thread for a large one. */
export interface BodyReader {
  /**
   * Parses and validates it. `request.rawBody` may be the reader's from then on.
   * @throws Fault
   */
  read(request: RawRequest): Unrouted | Promise<Unrouted>;
  /**
   * Puts the conversation before it that it goes on from, and items in place of references to them, and says what it asks
   * then.
   * @throws Fault
   */
  goOn(before: Before): Unrouted['asked'] | Promise<Unrouted['asked']>;
  /**
   * What a model would read of it, and the body for its upstream.
   * @throws Fault
   */
  readPrompt(model: ReadingModel, options?: ReadPromptOptions): Read | Promise<Read>;
  /** How many tokens a model would read of it. */
  countPrompt(model: ReadingModel): Promise<number>;
  /** A page of what a kept response was made of, as JSON. No body is read before. */
  inputItems(turns: readonly string[], page: ItemsPage): string | Promise<string>;
}

/** Reads where it is called. */
export class ReaderHere implements BodyReader {
  readonly #deps: ReadDeps & ReadPromptDeps;
  #body: ParsedBody | undefined;

  /** `onAgain` is told how many characters are screened more than once, before they are. */
  constructor(deps: ReadDeps & ReadPromptDeps, onAgain?: (chars: number) => void) {
    this.#deps = onAgain === undefined ? deps : { ...deps, onAgain };
  }

  /** What `read` has parsed. */
  get body(): ParsedBody {
    if (this.#body === undefined) throw new Error('the request has not been read yet');
    return this.#body;
  }

  read(request: RawRequest): Unrouted {
    const { unrouted, body } = read(this.#deps, request);
    this.#body = body;
    return unrouted;
  }

  goOn(before: Before): Unrouted['asked'] {
    const { asked, body } = goOn(this.body, before);
    this.#body = body;
    return asked;
  }

  readPrompt(model: ReadingModel, options?: ReadPromptOptions): Read | Promise<Read> {
    return readPrompt(this.#deps, this.body, model, options);
  }

  countPrompt(model: ReadingModel): Promise<number> {
    return countPrompt(this.#deps, this.body, model);
  }

  inputItems(turns: readonly string[], page: ItemsPage): string {
    return inputItems(turns, page);
  }

  leave(): void {}
}
