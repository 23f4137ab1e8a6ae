/**
 * The gateway beside others, in one run on this machine, all in front of the same upstream: Portkey's and LiteLLM's at
 * pinned versions, which are installed into the user's cache directory, and any other one that is told. They take turns;
 * CPU time and memory are those of all their processes, with their stores. Ends with each one's cost as a part of
 * Portkey's plain request, which is a yardstick for the machine, and with what each did besides.
 *
 * Usage: npm run bench peers -- [--quick] [--seconds 5] [--rounds 5] [--connections 1,64,256] [--streams 50,200,500]
 *          [--only portkey,litellm] [--cache DIR] [--upstream-port PORT]
 *          [--peer NAME=URL [--peer-pid PID] [--peer-key KEY]]…
 *
 * A gateway of your own runs before, knows a model `bench` with the upstream http://127.0.0.1:PORT/v1, and answers at URL,
 * which ends in /v1. Options of several such gateways belong together in their order.
 */
import { resolve } from 'node:path';
import {
  foreignPeer,
  type Meanwhile,
  type Peer,
  startLitellm,
  startPortkey,
} from './gateway/peers.ts';
import { type Figures, takeTurns } from './gateway/rounds.ts';
import {
  LOAD_OPTIONS,
  LOAD_USAGE,
  loadsOf,
  openSession,
  startGateway,
  titleOf,
  warmUp,
} from './gateway/session.ts';
import { median, table } from './gateway/tables.ts';
import { readOptions, refuseArguments } from './support/arguments.ts';

/** At this many connections the yardstick is taken. */
const YARDSTICK_CONNECTIONS = 64;
const ITS_OWN: Meanwhile = {
  authenticated: 'yes, by a key with scopes, revoked within a second',
  limited: 'yes, per organisation and key, over all processes',
  recorded: 'yes: receipt, ledger, usage; prompts and answers sealed on their way',
  durable: 'yes, committed before the answer is sent',
  signed: 'yes, with an estimate of its footprint',
};

const USAGE = `peers -- ${LOAD_USAGE} [--only portkey,litellm] [--cache DIR] [--upstream-port PORT] [--peer NAME=URL [--peer-pid PID] [--peer-key KEY]]…`;
const values = readOptions(USAGE, {
  ...LOAD_OPTIONS,
  only: { type: 'string', default: 'portkey,litellm' },
  cache: { type: 'string' },
  'upstream-port': { type: 'string', default: '0' },
  peer: { type: 'string', multiple: true, default: [] },
  'peer-pid': { type: 'string', multiple: true, default: [] },
  'peer-key': { type: 'string', multiple: true, default: [] },
});
const { loads, rounds } = loadsOf(USAGE, values, { whole: '50,200,500', quick: '50,500' });
const unknown = values.only.split(',').filter((name) => !['', 'portkey', 'litellm'].includes(name));
if (unknown.length > 0) refuseArguments(USAGE, `only: there is no ${unknown.join(', ')}.`);
const session = await openSession(values['upstream-port']);
try {
  const peers = await others();
  const docket = await startGateway(session, 'docket', resolve(import.meta.dirname, '../..'));
  for (const peer of peers) await warmUp(session, peer, peer.streams);
  const found = [];
  for (const load of loads) {
    const targets = [...peers.filter(({ streams }) => streams || !load.streamed), docket];
    const figures = await takeTurns(session, targets, load, rounds);
    found.push({ load, figures });
    say(`${titleOf(load, rounds)}${table(figures)}`);
  }
  say(`\n${ratios(found)}`);
  say(`\nMeanwhile, in front of the same upstream\n${did(peers)}`);
} finally {
  await session.close();
}

async function others(): Promise<Peer[]> {
  const wanted = values.only.split(',');
  const { 'peer-pid': pids, 'peer-key': keys } = values;
  return [
    ...(wanted.includes('portkey') ? [await startPortkey(session, values.cache)] : []),
    ...(wanted.includes('litellm') ? [await startLitellm(session, values.cache)] : []),
    ...(await Promise.all(values.peer.map((peer, i) => foreignPeer(peer, pids[i], keys[i])))),
  ];
}

/** What a request or token of each costs as a part of Portkey's plain request, where that was measured. */
function ratios(
  found: readonly { load: (typeof loads)[number]; figures: ReadonlyMap<string, Figures[]> }[],
): string {
  const cost = (figures: readonly Figures[] | undefined): number => {
    const costs = (figures ?? []).flatMap((one) =>
      [...one].filter(([name]) => name.endsWith(': all')).map(([, us]) => us),
    );
    return costs.length === 0 ? Number.NaN : median(costs);
  };
  const plain = found.find(
    ({ load }) => !load.streamed && load.connections === YARDSTICK_CONNECTIONS,
  );
  const yardstick = cost(plain?.figures.get('portkey'));
  if (Number.isNaN(yardstick)) return '';
  const lines = found.map(({ load, figures }) => {
    const each = [...figures].map(
      ([name, rounds_]) => `${name} ${(cost(rounds_) / yardstick).toFixed(3)}`,
    );
    const what = load.streamed ? 'token of' : 'request at';
    return `  ${what} ${load.connections} ${load.streamed ? 'streams' : 'connections'}: ${each.join('  ')}`;
  });
  const head = `CPU as a part of Portkey's plain request at ${YARDSTICK_CONNECTIONS} connections (${Math.round(yardstick)} µs)`;
  return `${head}\n${lines.join('\n')}\n`;
}

function did(peers: readonly Peer[]): string {
  const rows = [...peers, { name: 'docket', title: 'Docket', meanwhile: ITS_OWN } as Peer];
  return rows
    .map(({ title, meanwhile, note }) => {
      const facts = Object.entries(meanwhile).map(([what, how]) => `    ${what}: ${how}\n`);
      return `  ${title}${note === undefined ? '' : ` (${note})`}\n${facts.join('')}`;
    })
    .join('');
}

function say(text: string): void {
  process.stdout.write(text);
}
