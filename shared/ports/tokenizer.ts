import type { Prompt } from '../domain/prompt.ts';

/** The part of a catalogue model that says how much it reads, and in which tokens. */
export interface ContextWindow {
  contextWindow: number;
  /** `o200k_base`, `cl100k_base`; for other families counts are approximate. */
  tokenizer?: string;
}

/** Counts what models read and write. */
export interface Tokenizer {
  /**
   * False only when the prompt cannot fit in the window; what may fit is left to the upstream, which knows its own
   * chat template. Answers at once for prompts with no more UTF-8 bytes than the window has tokens.
   */
  promptFits(prompt: Prompt, window: ContextWindow): boolean | Promise<boolean>;
  /** Tokens of a text; for an unknown family, those that `o200k_base` would make of it. */
  countTokens(text: string, family: string | undefined): Promise<number>;
  /** Tokens of a prompt, what a chat adds around its messages included. For usage that an upstream did not report. */
  countPrompt(prompt: Prompt, family: string | undefined): Promise<number>;
  /** Turns token ids into text, for screening; undefined when the family is unknown. */
  decoder(family: string | undefined): Promise<((tokens: readonly number[]) => string) | undefined>;
}
