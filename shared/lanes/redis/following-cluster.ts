import { Cluster, type Command, type Redis } from 'ioredis';

/** What is known of a cluster's masters has changed; `node` is `host:port`. */
export interface MasterChange {
  kind: 'lost' | 'found';
  node: string;
}

/** While a master is away, requests of its slots fail: who has taken its place is asked for this often. */
const LOOK_MS = 200;

type Options = NonNullable<ConstructorParameters<typeof Cluster<'legacy'>>[1]>;
type Rest = Parameters<Cluster['sendCommand']> extends [Command, ...infer R] ? R : never;

/**
 * Learns within a moment who has taken the place of a master that went away. The client looks by itself every few seconds,
 * and follows a redirection of one command, but not of several that were sent together and belong to different slots:
 * those fail until it has looked again.
 */
export class FollowingCluster extends Cluster {
  readonly #onChange: (change: MasterChange) => void;
  readonly #lost = new Set<string>();
  /** Lost masters in whose place there is another one. A node that has not heard of it yet still names them. */
  readonly #replaced = new Set<string>();
  #masters: ReadonlySet<string> = new Set();
  #isLooking = false;

  /** `onChange` is told once when a master is lost, and once when it is back or another node is one. */
  constructor(
    nodes: { host: string; port: number }[],
    options: Options,
    onChange: (change: MasterChange) => void,
  ) {
    super(nodes, options);
    this.#onChange = onChange;
    this.on('-node', (node: Redis) => this.#left(nameOf(node)));
    this.on('refresh', () => this.#refreshed());
  }

  override sendCommand(command: Command, ...rest: Rest): unknown {
    command.promise.catch((error: unknown) => {
      if (String(error).includes('MOVED ')) this.#lookSoon();
    });
    return super.sendCommand(command, ...rest);
  }

  #left(name: string): void {
    // Otherwise it is a node that is not needed any more, or a process that closes its connections.
    if (this.status !== 'ready' || !this.#masters.has(name) || this.#lost.has(name)) return;
    this.#lost.add(name);
    this.#onChange({ kind: 'lost', node: name });
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    setTimeout(() => {
      this.refreshSlotsCache(() => {
        this.#isLooking = false;
        if (this.#lost.size > 0 && this.status === 'ready') this.#lookSoon();
      });
    }, LOOK_MS).unref();
  }

  #refreshed(): void {
    const before = this.#masters;
    const masters = mastersOf(this.slots);
    if ([...masters].some((name) => this.#replaced.has(name) && !this.#answers(name))) {
      // What that node says is of before.
      this.#lookSoon();
      return;
    }
    this.#masters = masters;
    for (const name of masters) this.#replaced.delete(name);
    // One that no connection was open to has gone without a word.
    for (const name of before) {
      if (!this.#masters.has(name) && !this.#lost.has(name)) {
        this.#onChange({ kind: 'lost', node: name });
      }
    }
    for (const name of this.#masters) {
      const isBack = this.#lost.has(name) && this.#answers(name);
      if (isBack || (before.size > 0 && !before.has(name))) {
        this.#onChange({ kind: 'found', node: name });
      }
      if (isBack) this.#lost.delete(name);
    }
    for (const name of this.#lost) {
      if (this.#masters.has(name)) continue;
      this.#lost.delete(name);
      this.#replaced.add(name);
    }
  }

  /** Connects to a master that was lost, unless it is being done: the next look sees what has come of it. */
  #answers(name: string): boolean {
    const node = this.nodes('master').find((one) => nameOf(one) === name);
    if (node?.status === 'wait') {
      node.connect().catch(() => {
        // It is still away.
      });
    }
    return node?.status === 'ready';
  }
}

const nameOf = ({ options: { host, port } }: Redis): string => `${host}:${port}`;

/** The masters of all slots. Neighbours share one list, so few of them are looked at twice. */
function mastersOf(slots: readonly (readonly string[])[]): Set<string> {
  const names = new Set<string>();
  let last: readonly string[] | undefined;
  for (const nodes of slots) {
    if (nodes !== last && nodes?.[0] !== undefined) names.add(nodes[0]);
    last = nodes;
  }
  return names;
}
