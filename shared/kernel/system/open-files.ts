import { readFileSync } from 'node:fs';

/** Where the system does not say: below what any allows a service. */
const UNKNOWN = 4_096;

/** How many descriptors the process may have open. Node has raised it to what is allowed when it started. */
export function openFilesMax(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? UNKNOWN : Number(soft);
  } catch {
    return UNKNOWN;
  }
}
