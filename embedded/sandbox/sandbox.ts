import type { CallBook } from './calls.ts';
import type { SandboxFault } from './faults.ts';
import type { TextModel } from './ngram.ts';

export interface SandboxOptions {
  /** Pace of streams; 0 for as fast as possible. */
  tokensPerSecond: number;
  /** When set, calls must carry it as their bearer credential. */
  apiKey?: string;
}

/** What a call needs from the process. */
export interface Sandbox {
  model: TextModel;
  book: CallBook;
  options: SandboxOptions;
  /** The fault of every call that names none itself. */
  standingFault: SandboxFault;
}
