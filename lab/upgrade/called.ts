import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Attempt, Target } from '#lab/storms/load.ts';
import { childEnvironment } from '#test/support/child-environment.ts';

/** Calls that get no further than this are held up by something that does not pass: no request waits for longer. */
const STANDSTILL_MS = 120_000;
const LOOK_MS = 50;

/** The process that calls, as its starter has it. */
export class Callers {
  readonly #child: ChildProcess;
  readonly #file: string;
  #calls = 0;

  constructor({ baseUrl, apiKey }: Target, directory: string, seed: number) {
    this.#file = join(directory, 'attempts.json');
    this.#child = fork(
      join(import.meta.dirname, 'callers.ts'),
      [baseUrl, apiKey, this.#file, String(seed)],
      {
        env: childEnvironment(),
      },
    );
    this.#child.on('message', (told) => {
      if (typeof told === 'number') this.#calls = told;
      else this.#child.emit('repeated');
    });
  }

  /** Calls that have ended. */
  get calls(): number {
    return this.#calls;
  }

  /** Resolves when so many more calls have ended. */
  async more(count: number): Promise<void> {
    const wanted = this.#calls + count;
    let [seen, at] = [this.#calls, Date.now()];
    while (this.#calls < wanted) {
      if (this.#child.exitCode !== null) throw new Error('the process that calls has ended');
      if (this.#calls > seen) [seen, at] = [this.#calls, Date.now()];
      if (Date.now() - at > STANDSTILL_MS) throw new Error(`after ${seen} calls no more ended`);
      await delay(LOOK_MS);
    }
  }

  /** Has keys of calls so far used again; what comes of it is among the attempts. */
  async repeat(): Promise<void> {
    const repeated = once(this.#child, 'repeated');
    this.#child.send('repeat');
    await repeated;
  }

  /** Ends when every call has ended, and says what each came to. */
  async end(): Promise<Attempt[]> {
    const ended = once(this.#child, 'exit');
    this.#child.send('end');
    await ended;
    return JSON.parse(await readFile(this.#file, 'utf8')) as Attempt[];
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
