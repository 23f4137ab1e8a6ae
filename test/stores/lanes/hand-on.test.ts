import { beforeEach, describe, expect, it } from 'vitest';
import { heldKey, inferenceLane } from '#shared/lanes/keys.ts';
import { createHandOn, type HandingOn, placeOfMoved } from '#shared/lanes/redis/hand-on.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { decodeInferenceEntry } from '#shared/lanes/wire-format.ts';
import { admissionRequest, connectTo, deliverTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { testSeals } from '#test/support/seals.ts';

const redis = await startTestRedis();
const client = connectTo(redis.url);
beforeEach(() => client.flushdb());

const WEST = inferenceLane(0, 'west');
const NORTH = inferenceLane(0, 'north');
const handOn = createHandOn(defineLaneScripts(client), 1, testSeals());
const { entry } = admissionRequest({ region: 'west' });
const [HELD_WEST, HELD_NORTH] = ['west', 'north'].map((code) => heldKey(0, code, entry.orgId));

async function handing(more: Partial<HandingOn> = {}): Promise<HandingOn> {
  const delivery = await deliverTo(client, { lane: WEST, consumer: 'w' });
  await client.zadd(HELD_WEST!, entry.deadlineAt, entry.id);
  const to = { ...entry, region: 'north', before: { deliveries: 1, calls: 2 } };
  return { delivery, from: entry, to, body: '{"a":1}', room: { region: 10, org: 10 }, ...more };
}
const lengths = () => Promise.all([WEST, NORTH].map((lane) => client.xlen(lane)));
const holds = () => Promise.all([HELD_WEST!, HELD_NORTH!].map((key) => client.zcard(key)));

describe('handing a request on to another region', () => {
  it('moves entry, body and place together [operations.region-failover]', async () => {
    const one = await handing();
    const handed = await handOn(one);
    const [[id, [, text]]] = (await client.xrange(NORTH, '-', '+')) as [[string, string[]]];
    expect(handed).toEqual({ entryId: id });
    expect(await placeOfMoved(client, entry)).toEqual({ region: 'north', entryId: id });
    expect([await lengths(), await holds()]).toEqual([
      [0, 1],
      [0, 1],
    ]);
    const { head, sealed, place } = decodeInferenceEntry(text!);
    expect(head).toEqual(one.to);
    expect(testSeals().open(sealed!, place)).toBe('{"a":1}');
    // It is not held twice: once it has gone, the delivery can do nothing more.
    expect(await handOn(one)).toBe('gone');
    expect(await lengths()).toEqual([0, 1]);
  });

  it('leaves it where it is when the other region, or the part of it that one organisation may fill, is full, and when another worker holds it [operations.region-failover]', async () => {
    const one = await handing();
    await client.xadd(NORTH, '*', 'e', 'another');
    expect(await handOn({ ...one, room: { region: 1, org: 10 } })).toBe('full');
    await client.zadd(HELD_NORTH!, Date.now() + 60_000, 'another');
    expect(await handOn({ ...one, room: { region: 10, org: 1 } })).toBe('full');
    const delivery = { ...one.delivery, number: 2 };
    expect(await handOn({ ...one, delivery })).toBe('taken');
    expect([await lengths(), await holds()]).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(await placeOfMoved(client, entry)).toBe(null);
  });
});
