import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { createHandOn } from '#shared/lanes/redis/hand-on.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { Outbox } from '#shared/lanes/redis/outbox.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { Elsewhere } from '#workers/inference/elsewhere.ts';
import { Settlement } from '#workers/inference/settlement.ts';
import { catalogue, endpoint, model, region } from '#test/unit/catalogue/routed-catalogue.ts';
import { testSeals } from './seals.ts';

const fail = (error: unknown): void => {
  throw error;
};

/** The connection of a worker that is killed when Redis has done so many of its commands. */
export function killedAfter<Client extends RedisClient>(
  commands: number,
  client: Client,
): { worker: Client; killed: Promise<'killed'> } {
  const { promise: killed, resolve } = Promise.withResolvers<'killed'>();
  let left = commands;
  const worker = new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      // Which nodes a cluster has is known without asking them.
      if (typeof value !== 'function' || name === 'nodes') return value;
      return (...args: unknown[]): unknown => {
        left -= 1;
        if (left >= 0) return Reflect.apply(value, target, args);
        resolve('killed');
        return new Promise(() => {});
      };
    },
  });
  return { worker, killed };
}

/** Ends a delivery as a worker with this connection does. Every other region that its entry names has room for it. */
export function settlementOn(
  client: RedisClient,
  delivery: Delivery,
  entry: InferenceEntry,
): Settlement {
  const others = entry.elsewhere ?? [];
  const known = catalogue(
    others.map((code) => region(code)),
    [endpoint('one', others)],
    [model(entry.model, ['one'])],
  );
  const elsewhere = new Elsewhere({
    handOn: createHandOn(defineLaneScripts(client), 1, testSeals()),
    served: () =>
      Promise.resolve(new Map(others.map((code) => [code, { slots: 9, perSecond: 0 }]))),
    statuses: () => Promise.resolve(new Map()),
    catalogue: () => known,
    onError: fail,
  });
  return new Settlement(
    {
      client,
      outbox: new Outbox(client, testSeals(), fail),
      seals: testSeals(),
      events: {
        runFinished: () => {},
        runFailed: () => {},
        runMoved: () => {},
        outcomeStale: () => {},
      },
      elsewhere,
      now: Date.now,
    },
    delivery,
    entry,
  );
}
