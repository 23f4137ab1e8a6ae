import { stat } from 'node:fs';
import { expect, it } from 'vitest';
import { failureOfStore } from '#shared/kernel/store-away.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { Admissions } from '#shared/lanes/redis/admission.ts';
import { newLaneKey, testSeals } from '#test/support/seals.ts';

const LIMITS = { requestsPerSecond: 10, burst: 10, requestsPerDay: 100, concurrentStreams: 1 };
const ENTRY = { id: 'req_1', orgId: 'org_1', shard: 0, region: 'eu-west', inbox: 'api-1' };
const REQUEST = {
  entry: { ...ENTRY, startedAt: 0, deadlineAt: 1_000 } as InferenceEntry,
  body: '{}',
  limits: LIMITS,
  keyLimit: null,
  regionCapacity: 1,
  orgCapacity: 1,
};

it('a request for which Redis was too late twice fails as one that it did not answer in time', async () => {
  const late = ['late', 0, 0, 0, 0, '5000', 'org'];
  const seals = testSeals(newLaneKey());
  const admissions = new Admissions({ admit: () => Promise.resolve(late) }, 1, seals);
  await expect(admissions.admit(REQUEST)).rejects.toThrow('Redis did not answer');
});

it('a request that Redis has given the reply of another command for is told that the store is away', async () => {
  const admissions = new Admissions(
    { admit: () => Promise.resolve(0) },
    1,
    testSeals(newLaneKey()),
  );
  const error: unknown = await admissions.admit(REQUEST).catch((failure: unknown) => failure);
  expect(failureOfStore(error).code).toBe('store_unavailable');
});

it('a process that had no time itself still hears that a request was admitted: it does not refuse what runs', async () => {
  const admissions = new Admissions(
    {
      admit: () =>
        new Promise((resolve) => {
          // The answer comes while the process is busy for longer than Redis may take.
          stat('.', () => resolve(['admitted', 0, 9, 0, 99, '1-0']));
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
        }),
    },
    1,
    testSeals(newLaneKey()),
  );
  await expect(admissions.admit(REQUEST)).resolves.toMatchObject({ verdict: 'admitted' });
});

it('a retry that was told too late that it is to wait for another request says so, and whose answer that is', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const told: unknown[] = [];
  const admissions = new Admissions({ admit: () => promise }, 1, testSeals(newLaneKey()), {
    onLate: ({ id }) => told.push(id),
    onLateRepeat: ({ id }, runs) => told.push([id, runs]),
  });
  await expect(admissions.admit(REQUEST)).rejects.toThrow('Redis did not answer');
  resolve(['wait', 0, 9, 0, 99, 'req_0', 'org']);
  await promise;
  await new Promise(setImmediate);
  expect(told).toEqual([['req_1', 'req_0']]);
});
