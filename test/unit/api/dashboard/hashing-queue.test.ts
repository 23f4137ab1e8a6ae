import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { HashingQueue, WAITING_MAX } from '#api/dashboard/session/hashing-queue.ts';
import type { Fault } from '#shared/kernel/errors.ts';

/** A queue whose hashes take until `next` is called; says which addresses were hashed for, and which were refused. */
function openQueue() {
  const queue = new HashingQueue(1);
  const [begun, refused]: string[][] = [[], []];
  const running: (() => void)[] = [];
  const ask = (address: string): void => {
    queue
      .run(address, () => {
        begun!.push(address);
        return new Promise<void>((end) => running.push(end));
      })
      .catch(({ status }: Fault) => refused!.push(`${address} ${status}`));
  };
  const next = async (): Promise<void> => {
    running.shift()?.();
    await turn();
  };
  return { ask, next, begun: begun!, refused: refused!, running };
}

describe('passwords that are hashed', () => {
  it('passwords are hashed a few at once, addresses in turn, so that one that floods holds up another by one hash [dashboard.brute-force]', async () => {
    const { ask, next, begun, running } = openQueue();
    for (const address of ['flood', 'flood', 'flood', 'flood', 'honest']) ask(address);
    expect(running).toHaveLength(1);
    for (let i = 0; i < 4; i += 1) await next();
    expect(begun).toEqual(['flood', 'flood', 'honest', 'flood', 'flood']);
    await next();
    expect(running).toHaveLength(0);
    ask('later');
    expect(running).toHaveLength(1);
  });

  it('what does not fit is refused at once with 503; an address that waits with most gives way to one that has fewer [dashboard.brute-force]', async () => {
    const { ask, next, begun, refused } = openQueue();
    for (let i = 0; i <= WAITING_MAX; i += 1) ask('flood');
    ask('flood');
    await turn();
    expect(refused).toEqual(['flood 503']);
    ask('honest');
    await turn();
    expect(refused).toEqual(['flood 503', 'flood 503']);
    await next();
    await next();
    expect(begun).toEqual(['flood', 'flood', 'honest']);
  });

  it('a place is passed on by a hash that fails [dashboard.brute-force]', async () => {
    const queue = new HashingQueue(1);
    const failed = queue.run('one', () => Promise.reject(new Error('no memory')));
    const other = queue.run('two', async () => 'hashed');
    await expect(failed).rejects.toThrow('no memory');
    expect(await other).toBe('hashed');
  });
});
