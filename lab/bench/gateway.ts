/**
 * The cost of the gateway, beside a direct call to the upstream and beside a bare proxy of the same stack: requests per
 * second and latency of whole answers, the delay of each token of streams, and CPU microseconds by process, stores
 * included. Everything is on this machine; the targets take turns, and each figure is the median of the rounds with its
 * lowest and highest. Prompts have 1 KB, streams 60 tokens, 20 ms apart.
 *
 * Usage: npm run bench gateway -- [--quick] [--seconds 5] [--rounds 5] [--connections 1,64,256] [--streams 50,200,500,1000]
 *        npm run bench gateway -- … --against <another checkout>
 *
 * The second form runs the gateways of two checkouts side by side and says what a request and a token cost in either: the
 * ratio within a round holds also where others use the machine. An empty list leaves its kind of load out.
 */
import { resolve } from 'node:path';
import { firstLine } from './gateway/child.ts';
import { takeTurns, type Target } from './gateway/rounds.ts';
import {
  LOAD_OPTIONS,
  LOAD_USAGE,
  loadsOf,
  openSession,
  type Session,
  startGateway,
  titleOf,
} from './gateway/session.ts';
import { comparison, table } from './gateway/tables.ts';
import { readOptions } from './support/arguments.ts';

const USAGE = `gateway -- ${LOAD_USAGE} [--against <another checkout>]`;
const values = readOptions(USAGE, { ...LOAD_OPTIONS, against: { type: 'string' } });
const { loads, rounds } = loadsOf(USAGE, values, { whole: '50,200,500,1000', quick: '50,500' });
const here = resolve(import.meta.dirname, '../..');
const other = values.against;
const session = await openSession();

try {
  const targets =
    other === undefined
      ? [...(await yardsticks(session)), await startGateway(session, 'docket', here)]
      : [
          await startGateway(session, 'there', resolve(other)),
          await startGateway(session, 'here', here),
        ];
  for (const load of loads) {
    const found = await takeTurns(session, targets, load, rounds);
    process.stdout.write(titleOf(load, rounds));
    process.stdout.write(
      other === undefined ? table(found) : comparison(found.get('here')!, found.get('there')!),
    );
  }
} finally {
  await session.close();
}

/** What any gateway costs at least: none, and one that does nothing. */
async function yardsticks({ children, port }: Session): Promise<Target[]> {
  const origin = `http://127.0.0.1:${port}`;
  const proxy = children.start('bare-proxy.ts', origin);
  const proxyUrl = `http://127.0.0.1:${await firstLine(proxy)}/v1`;
  const processes = [{ name: 'proxy', pid: proxy.pid! }];
  return [
    { name: 'direct', url: `${origin}/v1`, headers: {}, processes: [] },
    { name: 'bare proxy', url: proxyUrl, headers: {}, processes },
  ];
}
