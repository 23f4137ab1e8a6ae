import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KeptResponses, type KeptResponsesOptions } from '#api/inference/kept/kept-responses.ts';
import { joinKept, type TellingDeps } from '#api/inference/kept/told.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import { keptIn, packResponse } from '#shared/lanes/kept-response.ts';
import { newLaneKey, testSeals } from '#test/support/seals.ts';

type Store = KeptResponsesOptions['store'];

const MIB = 1024 * 1024;
const RESPONSE = '{"id":"resp_1","output":[],"store":true}';
const keeping = (id = 'resp_1', input = '"Hello."', orgId = 'org_1') => ({
  orgId,
  id,
  previous: null,
  input,
});

/** Kept responses over a store that keeps what it is given, unless a part of it is replaced. */
function open(over: Partial<Store> = {}, seals = testSeals(), bodyBytesMax = MIB) {
  const rows = new Map<string, { previous: string | null; sealed: Buffer }>();
  const failed: unknown[] = [];
  const clock = { now: 0 };
  const store: Store = {
    keep: async ({ id, previous, sealed }) => {
      rows.set(id, { previous, sealed: Buffer.from(sealed) });
      return true;
    },
    chain: async () => [...rows].map(([id, row]) => ({ id, ...row })),
    read: async (_, id) => (rows.has(id) ? { id, ...rows.get(id)! } : null),
    has: async (_, id) => rows.has(id),
    drop: async (_, id) => rows.delete(id),
    bytesOf: async () => 0,
    ofItems: async (_, { responses, except }) =>
      [...rows]
        .filter(([id]) => responses.includes(id) && !except.includes(id))
        .map(([id, { sealed }]) => ({ id, sealed })),
    ...over,
  };
  const kept = new KeptResponses({
    store,
    seals,
    bodyBytesMax,
    events: { storeFailed: (error) => void failed.push(error) },
    now: () => clock.now,
  });
  return { kept, rows, failed, clock };
}

/** The turns of a conversation that is gone on from. */
const conversation = (kept: KeptResponses, id: string): Promise<readonly string[] | null> =>
  kept.before({ orgId: 'org_1', previous: id, items: [] }, (before) => before?.turns ?? null);
const responseOf = (kept: KeptResponses, id: string, orgId = 'org_1'): Promise<string | null> =>
  kept.read(orgId, id, (text) => text);

describe('keeping a response [responses.unstored]', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('an organisation that has its 256 MiB gets no more kept, until there is room again', async () => {
    const held = { bytes: 256 * MIB };
    const { kept, rows, failed, clock } = open({ bytesOf: async () => held.bytes });
    expect(await kept.keep(keeping(), RESPONSE)).toBe(false);
    held.bytes = 0;
    expect(await kept.keep(keeping(), RESPONSE)).toBe(false);
    clock.now += 10_000;
    expect(await kept.keep(keeping(), RESPONSE)).toBe(true);
    expect([rows.size, failed]).toEqual([1, []]);
  });

  it('is counted with what was kept since the last count, and counted anew when some was deleted', async () => {
    const count = vi.fn<Store['bytesOf']>(async () => 256 * MIB - 200_000);
    const { kept } = open({ bytesOf: count });
    const input = JSON.stringify(randomBytes(60_000).toString('base64'));
    const asked = [];
    for (let i = 0; i < 4; i += 1)
      asked.push(await kept.keep(keeping(`resp_${i}`, input), RESPONSE));
    expect(asked).toEqual([true, true, true, false]);
    expect(count).toHaveBeenCalledOnce();
    await kept.drop('org_1', 'resp_0');
    await kept.keep(keeping('resp_5'), RESPONSE);
    expect(count).toHaveBeenCalledTimes(2);
  });

  it('goes on without it where PostgreSQL is away, and where it does not answer in time', async () => {
    const away = open({ keep: () => Promise.reject(new Error('away')) });
    expect(await away.kept.keep(keeping(), RESPONSE)).toBe(false);
    expect(away.failed).toHaveLength(1);
    const silent = open({ bytesOf: () => new Promise(() => {}) });
    const asked = silent.kept.keep(keeping(), RESPONSE);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await asked).toBe(false);
    expect(await open({ has: () => Promise.reject(new Error('away')) }).kept.has('o', 'r')).toBe(
      false,
    );
  });

  it('what was kept too late, so that its caller was told that it is not, is deleted again', async () => {
    const { promise: answer, resolve } = Promise.withResolvers<boolean>();
    const drop = vi.fn<Store['drop']>(async () => true);
    const { kept } = open({ keep: () => answer, drop });
    const asked = kept.keep(keeping(), RESPONSE);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await asked).toBe(false);
    expect(drop).not.toHaveBeenCalled();
    resolve(true);
    await kept.drained();
    expect(drop).toHaveBeenCalledWith('org_1', 'resp_1');
  });
});

it('inputs that wait for their answers have a bound, and one organisation a quarter of it [responses.unstored]', () => {
  const { kept } = open();
  const input = 'x'.repeat(15 * MIB);
  const first = kept.hold(keeping('r', input));
  expect(first).toBeDefined();
  expect(kept.hold(keeping('r', input))).toBeUndefined();
  for (const org of ['org_2', 'org_3', 'org_4'])
    expect(kept.hold(keeping('r', input, org))).toBeDefined();
  expect(kept.hold(keeping('r', input, 'org_5'))).toBeUndefined();
  first!();
  expect(kept.hold(keeping('r', input, 'org_5'))).toBeDefined();
});

it('an answer that would hold up others while it is kept is not kept, and not looked through [responses.unstored]', async () => {
  const deps = {
    kept: { keep: vi.fn<() => Promise<boolean>>(async () => true) },
  } as unknown as TellingDeps;
  const entry = { stream: false } as InferenceEntry;
  const answer = (length: number) => `{"status":"completed","output":"${'x'.repeat(length)}"}`;
  const joined = async (length: number) =>
    (await joinKept(deps, entry, keeping(), [answer(length), '{}'])) as string;
  expect(await joined(4 * MIB)).not.toContain('"store"');
  expect(deps.kept.keep).not.toHaveBeenCalled();
  expect(await joined(4 * MIB - 100)).toContain('"store":true');
});

it('an input counts until it is written, also when its caller has its answer before [responses.unstored]', async () => {
  const written = Promise.withResolvers<boolean>();
  const { kept, rows } = open({ keep: () => written.promise, has: async () => rows.size > 0 });
  const large = keeping('resp_1', 'x'.repeat(15 * MIB));
  const release = kept.hold(large)!;
  const keep = kept.keep(large, RESPONSE);
  release();
  expect(kept.hold(keeping('resp_2', large.input))).toBeUndefined();
  // One that asks again meanwhile is told the same.
  const again = kept.has('org_1', 'resp_1');
  rows.set('resp_1', { previous: null, sealed: Buffer.alloc(0) });
  written.resolve(true);
  expect(await again).toBe(true);
  expect(await keep).toBe(true);
  await kept.drained();
  expect(kept.hold(keeping('resp_2', large.input))).toBeDefined();
});

it('an organisation has two conversations and responses in memory at once, from when they are read until they are used and read [responses.unstored]', async () => {
  const reading = Promise.withResolvers<never>();
  const { kept } = open({ read: () => reading.promise });
  const using = Promise.withResolvers<void>();
  const used: string[] = [];
  const use = (what: string) =>
    kept.conversation({ orgId: 'org_1', id: 'resp_1' }, async () => {
      used.push(what);
      await using.promise;
    });
  vi.useFakeTimers();
  const late = responseOf(kept, 'resp_1').catch((error: Fault) => error.code);
  const [first, second] = [use('first'), use('second')];
  await vi.advanceTimersByTimeAsync(120_000);
  expect(await late).toBe('store_unavailable');
  vi.useRealTimers();
  // What is late is in memory as well.
  expect(used).toEqual(['first']);
  reading.reject(new Error('gone'));
  await vi.waitFor(() => expect(used).toEqual(['first', 'second']));
  using.resolve();
  await Promise.all([first, second]);
});

describe('reading what is kept [responses.sealed]', () => {
  it('gives back exactly what was kept', async () => {
    const { kept } = open();
    const response = '{"id":"resp_1", "number":1.0,"input":{"of":"the response"}}';
    await kept.keep(keeping('resp_1', '[{"role":"user","content":"a\\u0000b"}]'), response);
    expect(keptIn((await responseOf(kept, 'resp_1'))!)).toEqual({
      input: '[{"role":"user","content":"a\\u0000b"}]',
      response,
    });
  });

  it('opens nothing that was kept for another organisation or under another id, and nothing whose key is gone', async () => {
    const { kept, rows } = open();
    await kept.keep(keeping(), RESPONSE);
    const { sealed } = rows.get('resp_1')!;
    const elsewhere = open({ read: async (_, id) => ({ id, previous: null, sealed }) });
    expect(await responseOf(elsewhere.kept, 'resp_1', 'org_1')).not.toBeNull();
    expect(await responseOf(elsewhere.kept, 'resp_1', 'org_2')).toBeNull();
    expect(await responseOf(elsewhere.kept, 'resp_2', 'org_1')).toBeNull();
    const other = testSeals(newLaneKey());
    const lost = open({ read: async (_, id) => ({ id, previous: null, sealed }) }, other);
    expect(await responseOf(lost.kept, 'resp_1', 'org_1')).toBeNull();
    expect(lost.failed).toHaveLength(1);
  });

  it('refuses a conversation that is longer than a body may be, and one with a turn too many', async () => {
    const long = open({}, testSeals(), 100_000);
    const input = JSON.stringify('x'.repeat(60_000));
    await long.kept.keep(keeping('resp_1', input), RESPONSE);
    expect(await conversation(long.kept, 'resp_1')).toHaveLength(1);
    await long.kept.keep({ ...keeping('resp_2', input), previous: 'resp_1' }, RESPONSE);
    const tooLong = { code: 'request_too_large', status: 413, param: 'previous_response_id' };
    await expect(conversation(long.kept, 'resp_2')).rejects.toMatchObject(tooLong);
    const name = { orgId: 'org_1', id: 'resp_2' };
    const sealed = await packResponse(testSeals(), name, { input, response: RESPONSE });
    const many = open({
      chain: async () => [
        { id: 'resp_1', previous: null, sealed: null },
        { id: 'resp_2', previous: 'resp_1', sealed },
      ],
    });
    await expect(conversation(many.kept, 'resp_2')).rejects.toMatchObject(tooLong);
    const listed = { orgId: 'org_1', id: 'resp_2' };
    await expect(many.kept.conversation(listed, () => {})).rejects.toMatchObject({
      code: 'request_too_large',
      param: null,
      message: expect.not.stringContaining('previous_response_id'),
    });
  });

  it('finds the responses of items beside a conversation, each once, and within one bound for both', async () => {
    const ids = ['A', 'B', 'C'].map((last) => `resp_01M7W53ZF4Z6X0T8WB5N2K9MV${last}`);
    const items = ids.flatMap((id) => [id.replace('resp', 'msg'), id.replace('resp', 'fc')]);
    const named = {
      orgId: 'org_1',
      previous: ids[0],
      items: [...items.map((id) => `${id}_0`), 'msg_theirs', 'odd\0', 'x'.repeat(200)],
    };
    const asked = vi.fn<Store['ofItems']>();
    const { kept, rows } = open({
      chain: async () => [{ id: ids[0]!, ...rows.get(ids[0]!)! }],
      ofItems: async (...wanted) => {
        await asked(...wanted);
        return ids.slice(1).map((id) => ({ id, sealed: rows.get(id)!.sealed }));
      },
    });
    const input = JSON.stringify('x'.repeat(60_000));
    for (const id of ids) await kept.keep(keeping(id, input), RESPONSE);
    const found = await kept.before(named, (before) => before);
    expect([found!.turns.length, found!.referred.length]).toEqual([1, 2]);
    const [, { items: foreign, except }] = asked.mock.calls[0]!;
    // PostgreSQL takes no NUL, and an index no text of any length.
    expect([foreign, except]).toEqual([['msg_theirs'], [ids[0]]]);
    const bounded = open({ ofItems: async () => [{ id: ids[1]!, sealed: null }] });
    const tooLong = { code: 'request_too_large', param: 'input' };
    const alone = { ...named, previous: undefined };
    await expect(bounded.kept.before(alone, () => {})).rejects.toMatchObject(tooLong);
    const small = open(
      { ofItems: async () => [...rows].map(([id, row]) => ({ id, ...row })) },
      testSeals(),
      100_000,
    );
    await expect(small.kept.before(alone, () => {})).rejects.toMatchObject(tooLong);
  });

  it('asks for no items where a request names none, and finds a response under the names that its server gave', async () => {
    const keep = vi.fn<Store['keep']>(async () => true);
    const { kept } = open({ keep, ofItems: () => Promise.reject(new Error('asked')) });
    const output = (ids: unknown[]) => JSON.stringify({ output: ids.map((id) => ({ id })) });
    await kept.keep(keeping(), output(['rs_up', 'msg_up', 'msg_up', 7, 'odd name']));
    await kept.keep(keeping(), output(['rs_1_0', 'msg_1_1']));
    expect(keep.mock.calls.map(([{ items }]) => items)).toEqual([['rs_up', 'msg_up'], []]);
    const found = await kept.before(
      { orgId: 'org_1', previous: undefined, items: [] },
      (before) => before,
    );
    expect(found).toEqual({ turns: [], referred: [] });
  });

  it('finds no conversation whose beginning is gone, and lists what is left of it', async () => {
    const { kept } = open();
    await kept.keep({ ...keeping('resp_2'), previous: 'resp_1' }, RESPONSE);
    const listed = { orgId: 'org_1', id: 'resp_2' };
    expect(await kept.conversation(listed, (turns) => turns?.length)).toBe(1);
    expect(await open().kept.conversation(listed, (turns) => turns)).toBeNull();
    expect(await conversation(kept, 'resp_2')).toBeNull();
    expect(await conversation(open().kept, 'resp_2')).toBeNull();
  });

  it('asks PostgreSQL for no name that no response has', async () => {
    const never = () => Promise.reject(new Error('asked'));
    const { kept } = open({ chain: never, read: never, drop: never });
    for (const id of ['', 'resp_', 'resp_\0', 'msg_1', `resp_${'x'.repeat(65)}`]) {
      expect(await conversation(kept, id)).toBeNull();
      expect(await responseOf(kept, id)).toBeNull();
      expect(await kept.drop('org_1', id)).toBe(false);
    }
  });

  it('says that it cannot be asked, without internals, where PostgreSQL is away', async () => {
    const away = open({ chain: () => Promise.reject(new Error('secret host')) });
    await expect(conversation(away.kept, 'resp_1')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.not.stringContaining('secret'),
    });
  });
});
