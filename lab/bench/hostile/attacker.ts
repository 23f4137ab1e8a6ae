/** The attacker, in a process of its own: sends one kind of thing until it is time, and says what it was answered. */
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, askUnread, callerAt, type Writing } from './ask.ts';
import { type Attack, ATTACKS, type Means } from './attacks.ts';

/** What is sent at a pace and not answered is no more than this: the attacker has a machine to mind too. */
const ON_THE_WAY_MAX = 2_000;
const TICK_MS = 10;

export interface Orders {
  name: string;
  origin: string;
  means: Means;
  /** Behind `127.`: each attack comes from addresses that none before it had. */
  network: number;
}

/** Said when it has what it sends. */
export interface Start {
  seconds: number;
}

process.once('message', ({ name, origin, means, network }: Orders) => {
  // It would have a machine of its own, so here it gets what the gateway leaves.
  setPriority(19);
  const { pace, addresses = 1, bytesPerSecond, pool, open, ...attack } = ATTACKS[name]!;
  const sent = open(means);
  const statuses: Record<number, number> = {};
  let count = 0;
  const attackFrom = (address: string, until: number): Promise<void> => {
    const caller = callerAt(address, pool);
    const writing = writingOf(attack, until);
    const slowness = bytesPerSecond === undefined ? undefined : { bytesPerSecond, until };
    return keepPace(pace, until, async () => {
      count += 1;
      const status = await (writing === undefined
        ? ask(origin, sent(count), caller, slowness)
        : askUnread(origin, sent(count), address, writing));
      statuses[status] = (statuses[status] ?? 0) + 1;
    });
  };
  process.once('message', ({ seconds }: Start) => {
    const until = Date.now() + seconds * 1_000;
    const from = Array.from({ length: addresses }, (_, at) => `127.${network}.0.${at + 1}`);
    void Promise.all(from.map((address) => attackFrom(address, until))).then(() =>
      process.send!(statuses, () => process.exit()),
    );
  });
  process.send!('ready');
});

function writingOf(
  { ahead, byteEachMs, togetherMs }: Pick<Attack, 'ahead' | 'byteEachMs' | 'togetherMs'>,
  until: number,
): Writing | undefined {
  if (ahead !== undefined) return { ahead };
  if (togetherMs !== undefined) return { togetherMs };
  return byteEachMs === undefined ? undefined : { byteEachMs, until };
}

async function keepPace(
  pace: Attack['pace'],
  until: number,
  send: () => Promise<void>,
): Promise<void> {
  if ('atOnce' in pace) {
    const one = async (): Promise<void> => {
      while (Date.now() < until) await send();
    };
    await Promise.all(Array.from({ length: pace.atOnce }, one));
    return;
  }
  const begun = Date.now();
  const onTheWay = new Set<Promise<void>>();
  let count = 0;
  while (Date.now() < until) {
    const due = pace.first + ((Date.now() - begun) / 1_000) * pace.perSecond;
    for (; count < due; count += 1) {
      if (onTheWay.size >= ON_THE_WAY_MAX) continue;
      const one = send().finally(() => onTheWay.delete(one));
      onTheWay.add(one);
    }
    await sleep(TICK_MS);
  }
  await Promise.all(onTheWay);
}
