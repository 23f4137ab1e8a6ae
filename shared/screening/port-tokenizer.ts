import type { Prompt } from './prompt.ts';

/** The part of a catalogue model that says how much it reads, and in which tokens. */
export interface ContextWindow {
  contextWindow: number;
  /** `o200k_base`, `o200k_harmony`, `cl100k_base`; for other families counts are approximate. */
  tokenizer?: string;
}

/** Counts what models read and write. Vocabularies are loaded when first needed, or by `load`. */
export interface TokenCounter {
  /** Loads a family's vocabulary now (about 0.1 s), so that no request waits for it. Unknown families are passed over. */
  load(family: string | undefined): void;
  /**
   * False only when the prompt cannot fit in the window; what may fit is left to the upstream, which knows its own
   * chat template. Answers at once for prompts with no more UTF-8 bytes than the window has tokens, and lets other
   * work have its turns while it counts a longer one.
   */
  promptFits(prompt: Prompt, window: ContextWindow): boolean | Promise<boolean>;
  /**
   * Tokens of a text, for usage that an upstream did not report. Beyond 262,144 characters the rest is estimated from
   * them; for an unknown family it is what `o200k_base` would make of the text.
   */
  countTokens(text: string, family: string | undefined): number;
  /** Tokens of a prompt, with what a chat adds around its messages. */
  countPrompt(prompt: Prompt, family: string | undefined): number;
  /** Turns token ids into text, for screening; undefined when the family is unknown. */
  decoder(family: string | undefined): ((tokens: readonly number[]) => string) | undefined;
}
