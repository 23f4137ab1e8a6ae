import { aliveKey, PEERS_KEY } from '../keys.ts';
import type { RedisClient } from './connect.ts';

/** What a process tells the others that use the same lanes. */
export interface Peer {
  /** Epoch milliseconds. */
  startedAt: number;
  shards: number;
  /** The format of what it puts on lanes and into inboxes, and those that it reads. */
  writes: number;
  reads: readonly number[];
  /** Name and version of its software, and the digest of its catalogue. */
  build: string;
  catalogue: string;
}

/** What the processes that use the same lanes do not agree about. */
export interface Differences {
  /** Why this process cannot serve beside one of them. */
  problem: string | undefined;
  /** Others with another build, and with another catalogue. */
  builds: number;
  catalogues: number;
}

/** This process must not serve beside one that runs. */
export class PeerProblem extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'PeerProblem';
  }
}

/**
 * Compares a process with those that live. Of two whose shards differ the later one gives way: it would put requests where
 * no worker looks, or leave lanes unread.
 */
export function differencesOf(
  me: Peer,
  processId: string,
  others: ReadonlyMap<string, Peer>,
): Differences {
  const problems: string[] = [];
  let [builds, catalogues] = [0, 0];
  for (const [id, other] of others) {
    if (other.shards !== me.shards && isLater([me, processId], [other, id]))
      problems.push(`SHARDS is ${me.shards} here and ${other.shards} in ${id}, which runs`);
    if (!me.reads.includes(other.writes))
      problems.push(
        `${id}, which runs, writes format ${other.writes}, which ${me.build} cannot read`,
      );
    if (other.build !== me.build) builds += 1;
    if (other.catalogue !== me.catalogue) catalogues += 1;
  }
  return { problem: problems[0], builds, catalogues };
}

type Named = readonly [peer: Peer, id: string];

function isLater([one, oneId]: Named, [other, otherId]: Named): boolean {
  return one.startedAt === other.startedAt ? oneId > otherId : one.startedAt > other.startedAt;
}

/** What those who use the lanes have said of themselves, by process, and which of them give no sign of life. */
export async function readPeers(
  client: Pick<RedisClient, 'exists' | 'hgetall'>,
): Promise<{ living: Map<string, Peer>; dead: string[] }> {
  const told = Object.entries(await client.hgetall(PEERS_KEY));
  const alive = await Promise.all(told.map(([id]) => client.exists(aliveKey(id))));
  const living = told.filter((_, i) => alive[i] !== 0);
  return {
    living: new Map(living.map(([id, text]) => [id, JSON.parse(text) as Peer])),
    dead: told.filter((_, i) => alive[i] === 0).map(([id]) => id),
  };
}

/** The processes that use the same lanes, as far as they have said what they are. Those that died are forgotten. */
export class Peers {
  readonly #client: RedisClient;
  readonly #processId: string;

  constructor(client: RedisClient, processId: string) {
    this.#client = client;
    this.#processId = processId;
  }

  /** Says what this process is, and hears what the others are. */
  async compare(me: Peer): Promise<Differences> {
    await this.#client.hset(PEERS_KEY, this.#processId, JSON.stringify(me));
    const { living, dead } = await readPeers(this.#client);
    living.delete(this.#processId);
    const gone = dead.filter((id) => id !== this.#processId);
    if (gone.length > 0) await this.#client.hdel(PEERS_KEY, ...gone);
    return differencesOf(me, this.#processId, living);
  }

  async leave(): Promise<void> {
    await this.#client.hdel(PEERS_KEY, this.#processId);
  }
}
