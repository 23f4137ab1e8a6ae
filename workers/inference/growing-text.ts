/** Pieces are made into one text when they have come to so many characters. */
const LEAF_CHARS = 1_024;

/** A text that comes in small pieces. Added up by `+=` alone, each keeps ten times its size in memory. */
export class GrowingText {
  #text = '';
  #pieces = '';

  get length(): number {
    return this.#text.length + this.#pieces.length;
  }

  add(piece: string): void {
    this.#pieces += piece;
    if (this.#pieces.length < LEAF_CHARS) return;
    this.#text += copyOf(this.#pieces);
    this.#pieces = '';
  }

  toString(): string {
    return this.#text + this.#pieces;
  }
}

/** The same characters without the pieces that they came in: a sum of strings refers to all of them. */
const copyOf = (text: string): string => JSON.parse(JSON.stringify(text)) as string;
