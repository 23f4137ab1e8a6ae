import { countedCode, type ErrorCode } from '#shared/kernel/error-codes.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { receiptOf, type RequestRow } from '#shared/requests/row.ts';

/** As many alike of one key have a row each within a minute: enough to see what was asked. */
export const ALONE_MAX = 10;
export const WINDOW_MS = 60_000;
/** Kinds that are counted at once, of some hundred bytes each. Requests beyond have a row each. */
const WINDOWS_MAX = 10_000;
/** Between two searches for minutes that are over, where there is no room: each looks at all of them. */
const SEARCH_MS = 1_000;

interface Window {
  /** Epoch milliseconds. */
  since: number;
  seen: number;
  /** Stands for those beyond the first. */
  rest: RequestRow | undefined;
}

/**
 * Has one row stand for many requests that take nothing of the daily budget: beyond ten a minute of one key that are alike, the
 * rest of that minute is counted. Refusals are by their code and status, what is read by its route and status, and what is answered again is apart. A caller
 * who asks a thousand times a second costs a step in a map for each, and a row a minute.
 */
export class FoldedRequests {
  #windows = new Map<string, Window>();
  /** Windows that have a row to be written. */
  #folded = 0;
  #searchedAt = 0;

  /** Whether a row waits for the end of its minute. */
  get areWaiting(): boolean {
    return this.#folded > 0;
  }

  /**
   * Takes the row of such a request: counts it, or returns what is to be written now, which is itself, and the count of the minute
   * before it.
   * @param now epoch milliseconds
   */
  take(row: RequestRow, now: number): RequestRow[] {
    const name = kindOf(row);
    let window = this.#windows.get(name);
    const over: RequestRow[] = [];
    if (window === undefined || now - window.since >= WINDOW_MS) {
      if (window?.rest !== undefined) over.push(this.#end(window));
      if (window === undefined && !this.#hasRoom(now, over)) return [...over, row];
      window = { since: now, seen: 0, rest: undefined };
      this.#windows.set(name, window);
    }
    window.seen += 1;
    if (window.seen <= ALONE_MAX) return [...over, row];
    if (window.rest === undefined) this.#folded += 1;
    window.rest = window.rest === undefined ? row : joined(window.rest, row);
    return over;
  }

  /** The counts whose minute is over; all of them where `now` is undefined. */
  due(now?: number): RequestRow[] {
    const rows: RequestRow[] = [];
    for (const [name, window] of this.#windows) {
      if (now !== undefined && now - window.since < WINDOW_MS) continue;
      this.#windows.delete(name);
      if (window.rest !== undefined) rows.push(this.#end(window));
    }
    return rows;
  }

  #end({ rest }: Window): RequestRow {
    this.#folded -= 1;
    return rest!;
  }

  #hasRoom(now: number, over: RequestRow[]): boolean {
    if (this.#windows.size < WINDOWS_MAX) return true;
    if (now - this.#searchedAt < SEARCH_MS) return false;
    this.#searchedAt = now;
    over.push(...this.due(now));
    return this.#windows.size < WINDOWS_MAX;
  }
}

/** What a request is counted with. */
function kindOf(row: RequestRow): string {
  const { keyId, code, status, route, replayOf } = row;
  // A stream that failed is answered again with 200, and so is what was refused once with its code: neither is true of both.
  const what = code === null ? route : codeTogether(row);
  return `${keyId} ${status} ${what}${replayOf === null ? '' : ' again'}`;
}

/** The code that a refusal is counted by. Callers name parameters: codes that are made of those are counted together. */
function codeTogether({ code }: RequestRow): string | null {
  return code === null ? null : countedCode(code as ErrorCode);
}

/** A count and one more request: what they do not have in common is left out. */
function joined(count: RequestRow, row: RequestRow): RequestRow {
  const same = <T>(a: T, b: T): T | null => (a === b ? a : null);
  return {
    ...count,
    // Of parameters that callers name, the codes may differ.
    code: count.code === row.code ? count.code : codeTogether(row),
    route: same(count.route, row.route),
    model: same(count.model, row.model),
    requestedModel: same(count.requestedModel, row.requestedModel),
    region: same(count.region, row.region),
    network: same(count.network, row.network),
    streamed: same(count.streamed, row.streamed),
    tags: count.tags?.join() === row.tags?.join() ? count.tags : null,
    // Each that screening refused has a receipt of its own, and answers that were given again need not have one.
    hasReceipt: count.hasReceipt && receiptOf(count) === receiptOf(row),
    inputTokens: same(count.inputTokens, row.inputTokens),
    outputTokens: same(count.outputTokens, row.outputTokens),
    queuedMs: same(count.queuedMs, row.queuedMs),
    firstMs: same(count.firstMs, row.firstMs),
    upstreamCalls: same(count.upstreamCalls, row.upstreamCalls),
    totalMs: Math.max(count.totalMs, row.totalMs),
    requests: count.requests + 1,
    lastMs: Math.max(count.lastMs ?? 0, timeOfId(row.id) - timeOfId(count.id)),
  };
}
