import type { Redis } from 'ioredis';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import type { Limits } from '#shared/kernel/plan.ts';
import { Admissions, type AdmissionRequest } from '#shared/lanes/redis/admission.ts';
import { CONSUMER_GROUP, shardOfLane } from '#shared/lanes/keys.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { testSeals } from './seals.ts';
import { atFileEnd } from './file-end.ts';

export const GENEROUS: Limits = {
  requestsPerSecond: 1_000_000,
  burst: 1_000_000,
  requestsPerDay: 1_000_000_000,
  concurrentStreams: 100_000,
};

let made = 0;

/** A request of one organisation, admitted by default. */
export function admissionRequest(
  entry: Partial<InferenceEntry> = {},
  rest: Partial<Omit<AdmissionRequest, 'entry'>> = {},
): AdmissionRequest {
  made += 1;
  const now = Date.now();
  return {
    entry: {
      id: `req_${String(made).padStart(26, '0')}`,
      orgId: 'org_a',
      keyId: 'key_a',
      shard: 0,
      route: 'chat.completions',
      model: 'm',
      region: 'eu-west',
      tier: 'audit',
      stream: false,
      includeUsage: false,
      inbox: 'api-test',
      startedAt: now,
      deadlineAt: now + 60_000,
      salt: 'AAAAAAAAAAAAAAAAAAAAAA',
      requestDigest: 'A'.repeat(43),
      receipt: 'best_effort',
      ...entry,
    },
    body: '{"model":"m","messages":[]}',
    limits: GENEROUS,
    keyLimit: null,
    regionCapacity: 1_000_000,
    orgCapacity: 1_000_000,
    ...rest,
  };
}

/** A connection as processes have it, closed at the end of the file. */
export function connectTo(
  url: string,
  use: 'patient' | 'interactive' | 'blocking' = 'patient',
): Redis {
  const client = connectRedis({ url, name: 'test', use }) as Redis;
  atFileEnd(() => client.disconnect());
  return client;
}

/** Hands one entry of a lane, which may be empty and without a group, to a worker: its first delivery. */
export async function deliverTo(
  client: Redis,
  { lane, consumer, text = 'entry' }: { lane: string; consumer: string; text?: string },
): Promise<Delivery> {
  const entryId = (await client.xadd(lane, '*', 'e', text))!;
  await client.xgroup('CREATE', lane, CONSUMER_GROUP, '0', 'MKSTREAM').catch(() => {});
  await client.xreadgroup('GROUP', CONSUMER_GROUP, consumer, 'STREAMS', lane, '>');
  return { shard: shardOfLane(lane), lane, entryId, consumer, number: 1, texts: [text] };
}

/** Has another worker take an entry over, as a reaper does: its next delivery. */
export async function takeOver(
  client: Redis,
  delivery: Delivery,
  consumer: string,
): Promise<Delivery> {
  await client.xclaim(delivery.lane, CONSUMER_GROUP, consumer, 0, delivery.entryId);
  return { ...delivery, consumer, number: delivery.number + 1 };
}

/** Admission with a clock of the test's own (microseconds), or the server's. */
export function admissionsOn(
  client: Redis,
  clockUs?: () => number,
  receiptsLaneMax?: number,
): Admissions {
  const scripts = defineLaneScripts(client);
  return new Admissions(scripts, 1, testSeals(), {
    ...(clockUs === undefined ? {} : { clockUs: () => String(clockUs()) }),
    ...(receiptsLaneMax === undefined ? {} : { receiptsLaneMax }),
  });
}
