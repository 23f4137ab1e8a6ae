/** ok · warning: works, and is probably not meant · problem: must be fixed · skipped: cannot be looked at now. */
export type Verdict = 'ok' | 'warning' | 'problem' | 'skipped';

/** One thing that the doctor looked at. */
export interface Finding {
  name: string;
  verdict: Verdict;
  /** One line, never with a secret. */
  detail: string;
  /** The advice for a warning or a problem. */
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
