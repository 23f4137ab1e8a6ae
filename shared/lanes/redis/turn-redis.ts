import { type Command, Redis } from 'ioredis';

type Rest = Parameters<Redis['sendCommand']> extends [Command, ...infer R] ? R : never;

/**
 * Writes the commands of one turn of the event loop to the socket at once. What the client offers for that
 * (`enableAutoPipelining`) sends nothing while a pipeline is under way, and its pipelines keep the arguments and replies
 * of those before them alive until the next full garbage collection: with it a third of the garbage was copied twice.
 */
export class TurnRedis extends Redis {
  #corked = false;

  override sendCommand(command: Command, ...rest: Rest): unknown {
    if (!this.#corked && this.status === 'ready') this.#cork();
    return super.sendCommand(command, ...rest);
  }

  #cork(): void {
    const { stream } = this;
    this.#corked = true;
    stream.cork();
    setImmediate(() => {
      this.#corked = false;
      stream.uncork();
    });
  }
}
