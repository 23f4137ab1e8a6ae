import { once } from 'node:events';
import { type Children, ended } from './child.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import { cpuByProcess, memoryByProcess, type NamedProcess } from './processes.ts';

/** What is measured: an address, what each request says besides, and the processes whose time is its cost. */
export interface Target {
  name: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  processes: readonly NamedProcess[];
}

export type Load = Pick<LoadOrder, 'connections' | 'streamed' | 'seconds'>;

/** Figures by name, of one run of load or medians of several. */
export type Figures = ReadonlyMap<string, number>;

/** The upstream is no target's cost, and is looked at for being what limits all of them. */
export interface Bench {
  children: Children;
  upstream: NamedProcess;
}

/** One run of load against a target. */
export async function runLoad(
  { children }: Bench,
  { url, headers }: Pick<Target, 'url' | 'headers'>,
  load: Load,
): Promise<LoadResult> {
  const order: LoadOrder = { url, headers, ...load };
  const child = children.start('load.ts', JSON.stringify(order));
  const [result] = (await once(child, 'message')) as [LoadResult];
  await ended(child);
  return result;
}

/** The same, with what it cost. */
export async function runRound(bench: Bench, target: Target, load: Load): Promise<Figures> {
  const { upstream } = bench;
  const before = { ...cpuOf(target, upstream), at: performance.now() };
  const result = await runLoad(bench, target, load);
  const after = { ...cpuOf(target, upstream), at: performance.now() };
  const figures = figuresOf(result, load.streamed);
  let all = 0;
  const unit = load.streamed ? 'token' : 'request';
  for (const [name, us] of after.own) {
    const each = (us - (before.own.get(name) ?? 0)) / result.total;
    figures.set(`µs per ${unit}: ${name}`, each);
    all += each;
  }
  figures.set(`µs per ${unit}: all`, all);
  const memory = [...memoryByProcess(target.processes).values()];
  figures.set('MB of memory', memory.reduce((sum, bytes) => sum + bytes, 0) / 1e6);
  figures.set('load: % of a core', result.busy * 100);
  const share = (after.upstream - before.upstream) / 1_000 / (after.at - before.at);
  figures.set('upstream: % of a core', share * 100);
  return figures;
}

function cpuOf({ processes }: Target, upstream: NamedProcess) {
  const used = cpuByProcess([...processes, upstream]);
  const ofUpstream = used.get(upstream.name)!;
  used.delete(upstream.name);
  return { own: used, upstream: ofUpstream };
}

function figuresOf(result: LoadResult, streamed: boolean): Map<string, number> {
  const { perSecond, p50, p99, failed } = result;
  return new Map(
    streamed
      ? [
          ['tokens/s', perSecond],
          ['token delay p50 ms', p50],
          ['token delay p99 ms', p99],
          ['first token p50 ms', result.firstP50],
          ['first token p99 ms', result.firstP99],
          ['tokens lost', result.lost],
          ['streams broken', failed],
        ]
      : [
          ['requests/s', perSecond],
          ['p50 ms', p50],
          ['p99 ms', p99],
          ['failed', failed],
        ],
  );
}

/**
 * A process without a request for seconds has given memory back, and takes it again in its next ones at up to half of what
 * requests cost. Under a load that goes on it does neither, so that is not measured.
 */
const LEAD_IN_S = 5;

/** Rounds in which the targets take turns, each round from another one on: what the machine does meanwhile hits all. */
export async function takeTurns(
  bench: Bench,
  targets: readonly Target[],
  load: Load,
  rounds: number,
): Promise<Map<string, Figures[]>> {
  const found = new Map(targets.map(({ name }) => [name, [] as Figures[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < targets.length; i += 1) {
      const target = targets[(i + round) % targets.length]!;
      await runLoad(bench, target, { ...load, seconds: LEAD_IN_S });
      found.get(target.name)!.push(await runRound(bench, target, load));
    }
  }
  return found;
}
