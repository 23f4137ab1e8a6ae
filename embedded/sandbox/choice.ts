import type { Piece } from './tokens.ts';

/** The next part of one choice that a client may see: text that no stop sequence can take back any more. */
export interface ChoicePart {
  text: string;
  steps: readonly Piece[];
}

export interface ChoiceEnd {
  finish: 'stop' | 'length';
  /** Tokens generated, those of a stop sequence included. */
  tokens: number;
}

/** The position of the earliest stop sequence in `text`, or -1. */
function stopPosition(text: string, stops: readonly string[]): number {
  let first = -1;
  for (const stop of stops) {
    const found = text.indexOf(stop);
    if (found >= 0 && (first < 0 || found < first)) first = found;
  }
  return first;
}

/** The number of characters at the end of `text` that could be the beginning of a stop sequence. */
function heldLength(text: string, stops: readonly string[]): number {
  let held = 0;
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > held; length -= 1) {
      if (text.endsWith(stop.slice(0, length))) held = length;
    }
  }
  return held;
}

/** Takes whole steps from the front of `waiting` as long as they end within `length` characters. */
function takeWithin(waiting: Piece[], length: number): Piece[] {
  const taken: Piece[] = [];
  let end = 0;
  for (const step of waiting) {
    end += step.text.length;
    if (end > length) break;
    taken.push(step);
  }
  waiting.splice(0, taken.length);
  return taken;
}

function joined(steps: readonly Piece[]): string {
  return steps.map((step) => step.text).join('');
}

/** The last part before a stop sequence: whole steps, then the piece of a step in front of it. */
function cutAt(waiting: Piece[], position: number): ChoicePart {
  const steps = takeWithin(waiting, position);
  const text = joined(steps);
  const partial = waiting[0];
  if (text.length === position || partial === undefined) return { text, steps };
  const rest = partial.text.slice(0, position - text.length);
  return { text: text + rest, steps: [...steps, { ...partial, text: rest }] };
}

/**
 * Reads a source of tokens until it ends, `maxTokens` is reached or a stop sequence appears; text that
 * might still become a stop sequence is held back. The answer never contains the stop sequence.
 */
export function* writeChoice(
  source: Iterable<Piece>,
  bounds: { maxTokens: number; stops: readonly string[] },
): Generator<ChoicePart, ChoiceEnd> {
  const { maxTokens, stops } = bounds;
  const waiting: Piece[] = [];
  let tokens = 0;
  let finish: ChoiceEnd['finish'] = 'stop';
  for (const step of source) {
    if (tokens + step.tokens > maxTokens) {
      finish = 'length';
      break;
    }
    tokens += step.tokens;
    if (stops.length === 0) {
      yield { text: step.text, steps: [step] };
      continue;
    }
    waiting.push(step);
    const text = joined(waiting);
    const position = stopPosition(text, stops);
    if (position >= 0) {
      const last = cutAt(waiting, position);
      if (last.text !== '') yield last;
      return { finish: 'stop', tokens };
    }
    const free = takeWithin(waiting, text.length - heldLength(text, stops));
    if (free.length > 0) yield { text: joined(free), steps: free };
  }
  if (waiting.length > 0) yield { text: joined(waiting), steps: waiting };
  return { finish, tokens };
}
