import { aliveKey, FORMAT_KEY, FORMAT_MEMBER, PEERS_KEY } from '../keys.ts';
import type { KNOWN } from '../messages.ts';
import type { RedisClient } from './connect.ts';

/** What a process tells the others that use the same lanes. */
export interface Peer {
  /** Epoch milliseconds. */
  startedAt: number;
  shards: number;
  /** The format of what it puts on lanes and into inboxes, and those that it reads. */
  writes: number;
  reads: readonly number[];
  /** What it knows of requests and outcomes. Builds before these were told do not say it, and are not asked. */
  knows?: { readonly [Of in keyof typeof KNOWN]: readonly string[] };
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

/** What stays on the lanes and who writes and reads it, by the roles that begin the ids of processes. */
const HANDED: Record<keyof typeof KNOWN, { by: readonly string[]; to: string }> = {
  // Inference workers hand requests on to each other too, and are replaced one by one all the same: see `unknownInRequest`.
  request: { by: ['api'], to: 'inference' },
  outcome: { by: ['api', 'inference'], to: 'receipts' },
};

const KINDS_HANDED = ['request', 'outcome'] as const satisfies (keyof typeof KNOWN)[];

const ORDER =
  'Replace receipts workers first, then inference workers, then api processes; on the way back in the other order';

/**
 * Compares a process with those that live. Of two whose shards differ the later one gives way: it would put requests where
 * no worker looks, or leave lanes unread. So it does where one does not know what the other hands to it; and where one cannot
 * read at all what the other writes, both do.
 */
export function differencesOf(
  me: Peer,
  processId: string,
  others: ReadonlyMap<string, Peer>,
): Differences {
  const problems: string[] = [];
  let [builds, catalogues] = [0, 0];
  for (const [id, other] of others) {
    const amLater = isLater([me, processId], [other, id]);
    if (other.shards !== me.shards && amLater)
      problems.push(
        `SHARDS is ${me.shards} here and ${other.shards} in ${id}, which runs. Mend that, or stop the other`,
      );
    if (!me.reads.includes(other.writes))
      problems.push(
        `${id}, which runs, writes format ${other.writes}, which ${me.build} cannot read. Stop those of ${other.build} first, or upgrade through a build that reads both`,
      );
    else if (!other.reads.includes(me.writes) && amLater)
      problems.push(
        `${id}, which runs, cannot read format ${me.writes}, which ${me.build} writes. Stop those of ${other.build} first, or upgrade through a build that reads both`,
      );
    if (amLater) problems.push(...unknownBetween([me, processId], [other, id]));
    if (other.build !== me.build) builds += 1;
    if (other.catalogue !== me.catalogue) catalogues += 1;
  }
  return { problem: problems[0], builds, catalogues };
}

/** What one of two hands to the other that has never heard of it. */
function unknownBetween(me: Named, other: Named): string[] {
  const ways: readonly [writer: Named, reader: Named][] = [
    [me, other],
    [other, me],
  ];
  return ways.flatMap(([[writer, writerId], [reader, readerId]]) =>
    KINDS_HANDED.flatMap((kind) => {
      const { by, to } = HANDED[kind];
      if (!by.includes(roleOf(writerId)) || roleOf(readerId) !== to) return [];
      const known = reader.knows?.[kind];
      const unknown = known && writer.knows?.[kind].find((member) => !known.includes(member));
      if (unknown === undefined) return [];
      return `${reader.build} does not know \`${unknown}\` of ${kind}s, which ${writer.build} hands to it, and ${other[1]} of ${other[0].build} runs. ${ORDER}`;
    }),
  );
}

const roleOf = (processId: string): string => processId.slice(0, processId.indexOf('-'));

type Named = readonly [peer: Peer, id: string];

/**
 * Notes that this process writes to lanes, which keep what it writes when it is gone.
 * @throws PeerProblem when something may be on them that it cannot read: then it must take nothing from them
 */
export async function registerFormat(
  client: Pick<RedisClient, 'zadd' | 'zscore'>,
  { writes, reads, build }: Pick<Peer, 'writes' | 'reads' | 'build'>,
): Promise<void> {
  const written = await client.zscore(FORMAT_KEY, FORMAT_MEMBER);
  if (written !== null && !reads.includes(Number(written))) {
    const known = `${build} reads ${reads.join(' and ')}`;
    throw new PeerProblem(
      Number(written) > writes
        ? `this Redis has what was written in format ${written}, and ${known}. Start the build that wrote it, or a later one`
        : `this Redis has what was written in format ${written}, and ${known}. Upgrade through a build that reads ${written} and writes ${Math.min(...reads)}`,
    );
  }
  await client.zadd(FORMAT_KEY, 'GT', writes, FORMAT_MEMBER);
}

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
  #isTold = false;

  constructor(client: RedisClient, processId: string) {
    this.#client = client;
    this.#processId = processId;
  }

  /**
   * Says what this process is, and hears what the others are. The first time it hears before it says: one that will not start
   * must not be seen by those that run, which would not be ready until they look again.
   */
  async compare(me: Peer): Promise<Differences> {
    if (!this.#isTold) {
      const found = await this.#hear(me);
      if (found.problem !== undefined) return found;
    }
    await this.#client.hset(PEERS_KEY, this.#processId, JSON.stringify(me));
    this.#isTold = true;
    return this.#hear(me);
  }

  async #hear(me: Peer): Promise<Differences> {
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
