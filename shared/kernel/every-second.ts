const SECOND_MS = 1_000;

const acts = new Set<() => void>();
let timer: NodeJS.Timeout | undefined;

/**
 * Does this once a second from now on, in one turn of the event loop with everything else of the process that is done so:
 * an idle process is then woken once, and what it asks of Redis goes out in one write. It keeps no process alive.
 * @returns ends it
 */
export function everySecond(act: () => void): () => void {
  // Each call is one of its own, also of a function that is there already.
  const own = (): void => act();
  acts.add(own);
  timer ??= setInterval(() => {
    for (const one of acts) one();
  }, SECOND_MS).unref();
  return () => {
    acts.delete(own);
    if (acts.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
