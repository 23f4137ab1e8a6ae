import { type Finding, ok, problem, warning } from './finding.ts';

/** Above a second, expiries, limits and timestamps drift apart visibly. */
const DRIFT_WARNING_MS = 1_000;
/** Keys expire, budgets end and receipts are dated by this much too early or late. */
const DRIFT_PROBLEM_MS = 10_000;
const FIX = 'synchronise the clocks of both machines (chrony, systemd-timesyncd)';

/**
 * Compares this machine's clock with a store's: its time must lie between the moments before and
 * after it was asked, and what it lies outside of them is drift.
 */
export function compareClocks(
  store: string,
  theirs: number,
  asked: number,
  answered: number,
): Finding {
  const drift = theirs < asked ? theirs - asked : Math.max(0, theirs - answered);
  const name = `${store} clock`;
  const text = `${(drift / 1_000).toFixed(3)} s from this machine's`;
  if (Math.abs(drift) > DRIFT_PROBLEM_MS) return problem(name, text, FIX);
  return Math.abs(drift) > DRIFT_WARNING_MS ? warning(name, text, FIX) : ok(name, text);
}
