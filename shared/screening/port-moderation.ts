import type { Verdict } from './screen.ts';

/**
 * What the second stage of screening says. `skipped`: it could not be asked, and it was declared that requests then
 * pass; `unavailable`: it could not be asked, and it was declared that they then do not (answer `internal_error`).
 */
export type Moderation =
  | { outcome: 'passed' | 'skipped' | 'unavailable' }
  | { outcome: 'flagged'; verdict: Verdict };

/** A classifier outside the gateway that looks at what the rules let through. Optional; never the only screen. */
export interface Moderator {
  /** Judges the texts of one request together. Never throws; `signal` gives up early, which counts as not asked. */
  judge(texts: readonly string[], signal?: AbortSignal): Promise<Moderation>;
  close(): Promise<void>;
}
