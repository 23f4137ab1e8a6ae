import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReaderHere } from '#api/inference/body-reader.ts';
import { LargeBodies, type LargeBodiesOptions } from '#api/inference/large-bodies.ts';
import type { RawRequest } from '#api/inference/read.ts';
import { loadScreen } from '#shared/screening/files/load.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { CREDENTIAL, NOW, REQUEST_ID } from '#test/unit/api/inference/doubles.ts';

const MODEL = { id: 'both', contextWindow: 200_000, tokenizer: 'o200k_base' };
const TERMS = { processId: 'api-1', shards: 1, isModerated: false };

/** Threads take a while to start: most tests share them. */
const lost: unknown[] = [];
const bodies = open({ isModerated: true, onLost: (error) => void lost.push(error) });
const opened: LargeBodies[] = [];
afterAll(() => Promise.all([bodies, ...opened].map((one) => one.close())));

function open(over: Pick<LargeBodiesOptions, 'onLost'> & Partial<LargeBodiesOptions>) {
  return new LargeBodies({ ...TERMS, ...over });
}

const raw = (body: string, over: Partial<RawRequest> = {}): RawRequest => ({
  id: REQUEST_ID,
  route: 'chat.completions',
  rawBody: Buffer.from(body),
  headers: { 'x-region': 'eu', 'idempotency-key': 'k', authorization: 'Bearer secret' },
  credential: CREDENTIAL,
  now: NOW,
  ...over,
});
const chat = (content: string, more = '') =>
  `{"model":"both",${more}"messages":[{"role":"user","content":${JSON.stringify(content)}}]}`;
const deps = {
  ...TERMS,
  newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA',
  screen: loadScreen(),
  tokens: createTokenCounter(),
};
const here = () => new ReaderHere(deps);

/** A body that is long to read, and one that is short. */
const LARGE = { bytes: 1_000_000 };
const SHORT = { bytes: 100_000 };

/** The whole story of one request, as `handle` has it. */
async function readOn(threads: LargeBodies, request: RawRequest) {
  const reader = await threads.enter('org_1', LARGE);
  try {
    const unrouted = await reader.read(request);
    const { verdict, texts, forUpstream } = await reader.readPrompt(MODEL);
    return { unrouted, verdict, texts, forUpstream: Buffer.from(forUpstream).toString() };
  } finally {
    reader.leave();
  }
}

const START_MS = 60_000;
beforeAll(() => readOn(bodies, raw(chat('warm'))), START_MS);

describe('a body that is read on a thread', () => {
  it.each([
    ['as it is', chat('слово '.repeat(30_000))],
    ['with fields of our own', chat('word '.repeat(30_000), '"tier":"audit","region":"eu",')],
    ['after a byte-order mark', `\uFEFF${chat('word '.repeat(30_000))}`],
  ])('comes to the same as one that is read here: %s', async (_how, body) => {
    const found = await readOn(bodies, raw(body));
    const reader = here();
    const unrouted = reader.read(raw(body));
    // The salt is drawn anew, and the digest is over it.
    const { salt, requestDigest } = found.unrouted.entry;
    expect(found).toEqual({
      unrouted: { ...unrouted, entry: { ...unrouted.entry, salt, requestDigest } },
      ...(await reader.readPrompt(MODEL)),
    });
  });

  it('is refused with the same words, and the thread goes on to the next', async () => {
    const bad = raw(chat('x', '"temperature":9,'));
    const expected = (() => {
      try {
        return here().read(bad);
      } catch (error) {
        return error;
      }
    })();
    const fault = await readOn(bodies, bad).catch((error: unknown) => error);
    expect(fault).toEqual(expected);
    expect(fault).toMatchObject({ code: 'invalid_temperature', param: 'temperature' });
    await expect(readOn(bodies, raw(chat('bad '.repeat(200_000))))).rejects.toMatchObject({
      code: 'prompt_too_long',
      param: 'messages',
    });
    expect((await readOn(bodies, raw(chat('good')))).verdict).toBeNull();
    expect(lost).toEqual([]);
  });

  it(
    'whose thread ends is refused as one that can be sent again, and the next gets a new thread',
    async () => {
      const own = open({ onLost: () => {} });
      opened.push(own);
      const reader = await own.enter('org_1', LARGE);
      const reading = Promise.resolve(reader.read(raw(chat('word '.repeat(100_000)))));
      const refused = reading.catch((error: unknown) => error);
      await own.close();
      expect(await refused).toMatchObject({ code: 'dispatch_unavailable' });
      reader.leave();
      expect((await readOn(own, raw(chat('good')))).verdict).toBeNull();
    },
    START_MS,
  );

  it('waits for the others of its organisation, and not for those of another', async () => {
    const first = await bodies.enter('org_1', LARGE);
    const inside: string[] = [];
    const second = (async () => {
      const reader = await bodies.enter('org_1', LARGE);
      inside.push('second of org_1');
      reader.leave();
    })();
    const other = await bodies.enter('org_2', LARGE);
    inside.push('org_2');
    other.leave();
    first.leave();
    await second;
    expect(inside).toEqual(['org_2', 'second of org_1']);
  });

  it('does not wait, where it is short, for the large ones of two other organisations', async () => {
    const large = await Promise.all(['org_1', 'org_2'].map((org) => bodies.enter(org, LARGE)));
    let isThirdIn = false;
    const third = bodies.enter('org_3', LARGE).then((reader) => {
      isThirdIn = true;
      return reader;
    });
    const short = await bodies.enter('org_3', SHORT);
    expect(isThirdIn).toBe(false);
    short.leave();
    for (const reader of large) reader.leave();
    (await third).leave();
  });
});
