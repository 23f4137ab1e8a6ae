import { until } from './until.ts';

/** What keeps a Node process alive, by kind; what Vitest's own connection to its parent is made of stands on both sides. */
type Handles = ReadonlyMap<string, number>;

/** Closing takes a few turns of the event loop, and a word of the kernel or of the other side. */
const SETTLING_MS = 5_000;
/** Belong to what is under way, not to what is open: they end by themselves or with the next turn. */
const PASSING =
  /^(Immediate|FSReq|GetAddrInfo|CloseReq|Promise|WriteWrap|ShutdownWrap|TTYWrap|PipeWrap|RandomBytes|PBKDF2|Scrypt|Zlib|Hash)/;

/** Counts what is open in this process: timers, sockets, servers, children, watchers. */
export function openHandles(): Handles {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (!PASSING.test(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** Waits until nothing more is open than before; what is still open then, as `2 × TCPSocketWrap`. */
export async function settledHandles(before: Handles): Promise<string[]> {
  const left = (): string[] =>
    [...openHandles()]
      .map(([kind, count]) => ({ kind, more: count - (before.get(kind) ?? 0) }))
      .filter(({ more }) => more > 0)
      .map(({ kind, more }) => `${more} × ${kind}`);
  await until(() => left().length === 0, 'the file has closed everything', SETTLING_MS).catch(
    () => undefined,
  );
  return left();
}
