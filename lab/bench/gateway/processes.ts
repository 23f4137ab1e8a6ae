import { readdirSync, readFileSync } from 'node:fs';

/** A process by its id; or a process with all its descendants, those left out that another one of a list names. */
export type NamedProcess = { name: string; pid: number } | { name: string; tree: number };

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
  return sums(processes, ({ us }) => us);
}

/** Memory in bytes, by name: what processes share is divided among them (PSS). */
export function memoryByProcess(processes: readonly NamedProcess[]): Map<string, number> {
  return sums(processes, ({ pid }) => {
    try {
      const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1_024;
    } catch {
      // It ended between the two looks.
      return 0;
    }
  });
}

/** How often any of their threads has gone to sleep so far, by name. */
export function wakeUpsByProcess(processes: readonly NamedProcess[]): Map<string, number> {
  return sums(processes, ({ pid }) => threadsOf(pid).reduce((all, one) => all + sleepsOf(one), 0));
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  } catch {
    // It ended between the two looks.
    return [];
  }
}

function sleepsOf(thread: string): number {
  try {
    const text = readFileSync(`${thread}/status`, 'utf8');
    return Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The processes of a tree whose command has this name, and that are not below another such one. */
export function findInTree(root: number, command: string): number[] {
  const stats = readStats();
  const below = (parent: number): number[] =>
    stats
      .filter((stat) => stat.parent === parent)
      .flatMap((stat) => (stat.command.includes(command) ? [stat.pid] : below(stat.pid)));
  return below(root);
}

function sums(
  processes: readonly NamedProcess[],
  figure: (stat: Stat) => number,
): Map<string, number> {
  const stats = readStats();
  const named = new Set(processes.map((one) => ('pid' in one ? one.pid : one.tree)));
  const found = new Map<string, number>();
  for (const one of processes) {
    const own =
      'pid' in one ? stats.filter(({ pid }) => pid === one.pid) : tree(stats, one.tree, named);
    const sum = own.reduce((all, stat) => all + figure(stat), 0);
    found.set(one.name, (found.get(one.name) ?? 0) + sum);
  }
  return found;
}

function tree(stats: readonly Stat[], root: number, named: ReadonlySet<number>): Stat[] {
  const children = stats.filter(({ parent, pid }) => parent === root && !named.has(pid));
  return [
    ...stats.filter(({ pid }) => pid === root),
    ...children.flatMap(({ pid }) => tree(stats, pid, named)),
  ];
}

function readStats(): Stat[] {
  return readdirSync('/proc').flatMap((entry) => statOf(entry));
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
