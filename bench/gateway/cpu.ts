import { readdirSync, readFileSync } from 'node:fs';

/** A process by its id, or all descendants of one whose command has a name. */
export type NamedProcess =
  | { name: string; pid: number }
  | { name: string; parent: number; command: string };

/** Kernel ticks are hundredths of a second on every Linux that Node runs on. */
const TICK_US = 10_000;

interface Stat {
  pid: number;
  parent: number;
  command: string;
  /** Its own, and that of children which have ended. */
  us: number;
}

/** Where `/proc/<pid>/stat` has user and system time, own and of ended children, counted after the command. */
const TIMES = [11, 12, 13, 14];

/** CPU time used so far, in microseconds, by name. */
export function cpuByProcess(processes: readonly NamedProcess[]): Map<string, number> {
  const stats = readdirSync('/proc').flatMap((entry) => statOf(entry));
  const used = new Map<string, number>();
  for (const one of processes) {
    const own = 'pid' in one ? stats.filter(({ pid }) => pid === one.pid) : descendants(stats, one);
    const us = own.reduce((sum, stat) => sum + stat.us, 0);
    used.set(one.name, (used.get(one.name) ?? 0) + us);
  }
  return used;
}

function descendants(
  stats: readonly Stat[],
  { parent, command }: { parent: number; command: string },
): Stat[] {
  const children = stats.filter((stat) => stat.parent === parent);
  return children.flatMap((child) => [
    ...(child.command.includes(command) ? [child] : []),
    ...descendants(stats, { parent: child.pid, command }),
  ]);
}

function statOf(entry: string): Stat[] {
  if (!/^\d+$/.test(entry)) return [];
  try {
    const text = readFileSync(`/proc/${entry}/stat`, 'utf8');
    const end = text.lastIndexOf(')');
    const fields = text.slice(end + 2).split(' ');
    return [
      {
        pid: Number(entry),
        parent: Number(fields[1]),
        command: text.slice(text.indexOf('(') + 1, end),
        us: TIMES.reduce((sum, field) => sum + Number(fields[field]), 0) * TICK_US,
      },
    ];
  } catch {
    // It ended between the two looks.
    return [];
  }
}
