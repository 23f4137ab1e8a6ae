/** Redrawn at most ten times a second: more cannot be read, and slows the work. */
const REDRAW_MS = 100;
const WIDTH = 30;

export interface ProgressBar {
  show(done: number, total: number): void;
  /** Wipes the bar, so that what is printed next stands alone. */
  clear(): void;
}

/** A bar on a terminal; nothing at all when the stream goes elsewhere. */
export function createProgressBar(
  label: string,
  stream: NodeJS.WriteStream = process.stderr,
): ProgressBar {
  if (!stream.isTTY) return { show: () => {}, clear: () => {} };
  const startedAt = performance.now();
  let drawnAt = -Infinity;
  return {
    show(done, total) {
      const now = performance.now();
      if (now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      const share = total === 0 ? 1 : Math.min(1, done / total);
      const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░');
      const rate = Math.round(done / Math.max(0.001, (now - startedAt) / 1_000));
      const text = `${label} ${bar} ${Math.floor(share * 100)} %  ${done} of ${total}, ${rate}/s`;
      stream.write(`\r\u001b[K${text.slice(0, Math.max(20, stream.columns - 1))}`);
    },
    clear() {
      if (drawnAt > -Infinity) stream.write('\r\u001b[K');
      drawnAt = -Infinity;
    },
  };
}
