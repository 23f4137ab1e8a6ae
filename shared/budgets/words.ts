import { dateTime } from '#shared/kernel/time.ts';
import { count, moneyText, scaleFor } from '#shared/methodology/readable.ts';
import { type Budget, reachedAt, type Span } from './budget.ts';

/** `4.1 of 5 kWh`. */
export function amountWords({
  measure,
  used,
  limit,
  currency,
}: Pick<Budget, 'measure' | 'limit'> & { used: number; currency: string | null }): string {
  if (measure === 'requests' || measure === 'tokens')
    return `${count(used)} of ${count(limit)} ${measure}`;
  if (measure === 'money') return `${moneyText(used)} of ${moneyText(limit)} ${currency ?? ''}`;
  const scale = scaleFor(measure, limit);
  return `${scale.text(used)} of ${scale.text(limit)} ${scale.unit}`;
}

/** When it is reached at the pace of its period, or that it is. */
export function paceWords(
  budget: Pick<Budget, 'limit' | 'period'> & { used: number },
  span: Span,
  now: number,
): string {
  if (budget.used >= budget.limit) return `Reached. A new period begins on ${dateTime(span.end)}.`;
  if (budget.used === 0) return 'Nothing is used yet.';
  const at = reachedAt(budget, span, now);
  if (at !== null) return `At this pace it is reached on ${dateTime(at)}.`;
  return `At this pace it is not reached before the ${budget.period} ends.`;
}
