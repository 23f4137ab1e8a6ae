import { type ChoiceEnd, type ChoicePart, writeChoice } from './choice.ts';
import { type Piece, piecesOf } from './tokens.ts';
import type { ToolCall } from './tool-choice.ts';

/** The next addition to one choice of a chat answer. */
export type Delta =
  | { kind: 'text'; text: string; steps: readonly Piece[] }
  | { kind: 'tool'; position: number; call: ToolCall }
  | { kind: 'arguments'; position: number; text: string };

export interface DeltaEnd {
  finish: 'stop' | 'length' | 'tool_calls';
  tokens: number;
}

/** Tokens of a tool call beside its arguments: its name and its frame, about as many as in OpenAI's own models. */
const TOKENS_PER_CALL = 7;

/** A choice that is text. */
export function* textDeltas(parts: Generator<ChoicePart, ChoiceEnd>): Generator<Delta, DeltaEnd> {
  for (;;) {
    const next = parts.next();
    if (next.done === true) return next.value;
    yield { kind: 'text', ...next.value };
  }
}

/** A choice that is tool calls, their arguments in pieces. */
export function* toolDeltas(
  calls: readonly ToolCall[],
  maxTokens: number,
): Generator<Delta, DeltaEnd> {
  let tokens = 0;
  for (const [position, call] of calls.entries()) {
    tokens += TOKENS_PER_CALL;
    yield { kind: 'tool', position, call };
    const parts = writeChoice(piecesOf(call.arguments), {
      maxTokens: Math.max(0, maxTokens - tokens),
      stops: [],
    });
    let next = parts.next();
    for (; next.done !== true; next = parts.next()) {
      yield { kind: 'arguments', position, text: next.value.text };
    }
    tokens += next.value.tokens;
    if (next.value.finish === 'length') return { finish: 'length', tokens };
  }
  return { finish: 'tool_calls', tokens };
}

/** Generators of several choices, run side by side: one step of each in every round. */
export class Rounds<Step, End> {
  readonly ends: End[] = [];
  #running: { index: number; steps: Generator<Step, End> }[];

  constructor(choices: readonly Generator<Step, End>[]) {
    this.#running = choices.map((steps, index) => ({ index, steps }));
  }

  /** The next step of every choice that has one; empty when all have ended. */
  next(): { index: number; step: Step }[] {
    const steps: { index: number; step: Step }[] = [];
    this.#running = this.#running.filter(({ index, steps: source }) => {
      const next = source.next();
      if (next.done === true) this.ends[index] = next.value;
      else steps.push({ index, step: next.value });
      return next.done !== true;
    });
    return steps;
  }
}
