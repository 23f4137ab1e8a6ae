/** ok · warning: works, and is probably not meant · problem: must be fixed · skipped: cannot be looked at now. */
export type Verdict = 'ok' | 'warning' | 'problem' | 'skipped';

/** One thing that the doctor looked at. */
export interface Finding {
  name: string;
  verdict: Verdict;
  /** What was found, in a line. Never a secret. */
  detail: string;
  /** What to do about it. */
  fix?: string;
}

export function ok(name: string, detail: string): Finding {
  return { name, verdict: 'ok', detail };
}

export function warning(name: string, detail: string, fix: string): Finding {
  return { name, verdict: 'warning', detail, fix };
}

export function problem(name: string, detail: string, fix: string): Finding {
  return { name, verdict: 'problem', detail, fix };
}

export function skipped(name: string, detail: string): Finding {
  return { name, verdict: 'skipped', detail };
}

/** What an error says, on one line: of several refused addresses the first stands for all. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.replaceAll(/\s*\n\s*/g, ' · ');
}
