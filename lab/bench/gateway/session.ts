import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Children, firstLine } from './child.ts';
import { readList, readNumber } from '../support/arguments.ts';
import { launchGateway } from './launch.ts';
import { type Bench, type Load, runLoad, type Target } from './rounds.ts';

/** The options that say how much load of which kind there is. */
export const LOAD_OPTIONS = {
  quick: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  connections: { type: 'string', default: '1,64,256' },
  streams: { type: 'string' },
} as const;
export const LOAD_USAGE =
  '[--quick] [--seconds 5] [--rounds 5] [--connections 1,64,256] [--streams 50,200,500]';

interface LoadValues {
  quick: boolean;
  rounds?: string | undefined;
  seconds?: string | undefined;
  connections: string;
  streams?: string | undefined;
}

/** The loads asked for, one after the other; `--quick` takes fewer streams and rounds. */
export function loadsOf(
  usage: string,
  values: LoadValues,
  streams: { whole: string; quick: string },
) {
  const { quick } = values;
  const one = (name: 'seconds' | 'rounds'): number =>
    values[name] === undefined ? (quick ? 3 : 5) : readNumber(usage, name, values[name]);
  const seconds = one('seconds');
  const loads: Load[] = [
    ...readList(usage, 'connections', values.connections).map((connections) => ({
      connections,
      streamed: false,
      seconds,
    })),
    ...readList(usage, 'streams', values.streams ?? (quick ? streams.quick : streams.whole)).map(
      (connections) => ({
        connections,
        streamed: true,
        seconds,
      }),
    ),
  ];
  return { rounds: one('rounds'), loads };
}

export interface Session extends Bench {
  /** Of the upstream. */
  port: string;
  /** Where what is started keeps its files; removed at the end. */
  dataDir: string;
  close(): Promise<void>;
}

/** Starts the upstream; everything else that a benchmark starts ends with it. */
export async function openSession(upstreamPort: string = '0'): Promise<Session> {
  const children = new Children();
  const dataDir = mkdtempSync(join(tmpdir(), 'docket-bench-'));
  const upstream = children.start('static-upstream.ts', upstreamPort);
  return {
    children,
    dataDir,
    upstream: { name: 'upstream', pid: upstream.pid! },
    port: await firstLine(upstream),
    async close() {
      await children.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Starts the gateway of a checkout and warms it up. */
export async function startGateway(
  session: Session,
  name: string,
  checkout: string,
): Promise<Target> {
  const { children, dataDir, port } = session;
  const target = { name, ...(await launchGateway(children, checkout, join(dataDir, name), port)) };
  await warmUp(session, target, true);
  return target;
}

/** Seconds of load of each kind before anything is measured. */
const WARM_UP_S = 15;

/** A process that runs for days has been optimised on every path that a request takes; so must what is measured be. */
export async function warmUp(bench: Bench, target: Target, streams: boolean): Promise<void> {
  for (const streamed of streams ? [true, false] : [false]) {
    await runLoad(bench, target, { connections: 64, streamed, seconds: WARM_UP_S });
  }
}

/** A title for a table of one load. */
export function titleOf({ connections, streamed, seconds }: Load, rounds: number): string {
  const kind = streamed ? 'streams' : 'connections';
  return `\n${connections} ${kind}, ${rounds} rounds of ${seconds} s\n`;
}
