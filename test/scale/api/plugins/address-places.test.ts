import { setImmediate as turn } from 'node:timers/promises';
import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { ApiDescription } from '#test/support/api-description.ts';
import { openEdge } from '#test/support/app.ts';

/** The connections that an api process has by default. */
const CONNECTIONS = 10;

/** The edge, over a pool whose statements are answered when they are told to: by no row, or as a log of `size` entries. */
async function openWaitingEdge({ size = 0 } = {}) {
  const answering: (() => void)[] = [];
  const waiting: (() => void)[] = [];
  let statements = 0;
  let held = 0;
  let heldMost = 0;
  const query = async ({ text }: { text: string }): Promise<{ rows: object[] }> => {
    if (held === CONNECTIONS) await new Promise<void>((hold) => waiting.push(hold));
    held += 1;
    statements += 1;
    heldMost = Math.max(heldMost, held);
    await new Promise<void>((answer) => answering.push(answer));
    held -= 1;
    waiting.shift()?.();
    const isSize = size > 0 && text.includes('from ledger_checkpoint');
    return { rows: isSize ? [{ size: String(size), root: Buffer.alloc(32), note: '' }] : [] };
  };
  const edge = await openEdge({ query } as unknown as Pool);
  const read = async (url: string, remoteAddress: string, key?: string) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    return (await edge.app.inject({ url, remoteAddress, headers })).statusCode;
  };
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 20; i += 1) await turn();
  };
  return {
    ...edge,
    read,
    settle,
    answering,
    statements: () => statements,
    held: () => held,
    heldMost: () => heldMost,
    /** Answers what is asked and what is asked then, until `done`. */
    async answerUntil<T>(done: Promise<T>): Promise<T> {
      const state = { isDone: false };
      const ended = done.finally(() => (state.isDone = true));
      while (!state.isDone) {
        answering.shift()?.();
        await turn();
      }
      return ended;
    },
  };
}

const times = (count: number, status: number): number[] => Array<number>(count).fill(status);
const STRANGER = '192.0.2.1';
const ATTACKS: Readonly<Record<string, (i: number) => string>> = {
  'tiles that are none yet': (i) => `/anchor/tile/0/x${String(i).padStart(3, '0')}/001`,
  'tiles of entries': (i) => `/anchor/tile/entries/000.p/${(i % 200) + 1}`,
  'derivation records': (i) =>
    `/derivations/u${Buffer.from([0x12, 0x20, ...new Uint8Array(31), i % 256]).toString('base64url')}`,
};

describe('what a stranger asks of PostgreSQL', () => {
  it.each(Object.entries(ATTACKS))(
    '%s, 900 at once: two connections are held for an address, four for all, and a read with a key waits for none of them [limits.addresses-at-once]',
    async (_what, urlOf) => {
      const edge = await openWaitingEdge();
      const url = '/v1/ledger/checkpoint';
      const key = edge.keyFor('org_a');
      const strange = Array.from({ length: 900 }, (_, i) => edge.read(urlOf(i), STRANGER));
      await edge.settle();
      expect(edge.held()).toBeLessThanOrEqual(2);
      const others = ['192.0.2.2', '192.0.2.3', '192.0.2.4'].flatMap((address) =>
        [1, 2].map((i) => edge.read(urlOf(i), address)),
      );
      await edge.settle();
      const before = edge.held();
      expect(before).toBeLessThanOrEqual(4);
      const ours = edge.read(url, STRANGER, key);
      await edge.settle();
      expect(edge.held()).toBe(before + 1);
      edge.answering.pop()!();
      expect(await ours).toBe(404);
      const answers = await edge.answerUntil(Promise.all([...strange, ...others]));
      expect(answers).toEqual(times(906, 404));
      expect(edge.heldMost()).toBeLessThanOrEqual(5);
    },
  );

  it('tiles beyond the newest checkpoint that were asked for before it was read cost no statement of their own [limits.addresses-at-once]', async () => {
    const edge = await openWaitingEdge({ size: 300 });
    const first = edge.read('/anchor/tile/0/002', STRANGER);
    await edge.settle();
    expect(edge.statements()).toBe(1);
    const later = Array.from({ length: 900 }, () => edge.read('/anchor/tile/0/002', STRANGER));
    expect(await edge.answerUntil(Promise.all([first, ...later]))).toEqual(times(901, 404));
    // The first is asked for one, the second for those who came before it was read, and the third for the rest.
    expect(edge.statements()).toBeLessThanOrEqual(3);
  });

  it('a document that is in memory waits for no place [limits.addresses-at-once]', async () => {
    const edge = await openWaitingEdge();
    const strange = [1, 2, 3].map((i) => edge.read(`/anchor/tile/0/00${i}`, STRANGER));
    await edge.settle();
    for (const url of ['/.well-known/did.json', '/methodologies', '/openapi.json', '/', '/verify'])
      expect(await edge.read(url, STRANGER), url).toBe(200);
    await edge.answerUntil(Promise.all(strange));
  });

  it('no public route asks PostgreSQL while the places of its address are taken [limits.addresses-at-once]', async () => {
    const edge = await openWaitingEdge();
    const description = new ApiDescription(
      JSON.parse((await edge.app.inject('/openapi.json')).payload) as never,
    );
    const strange = [1, 2].map((i) => edge.read(ATTACKS['derivation records']!(i), STRANGER));
    await edge.settle();
    expect(edge.statements()).toBe(2);
    const open = description.operations.filter(({ operation }) => operation.security.length === 0);
    expect(open.length).toBeGreaterThan(8);
    for (const { path, operation } of open) {
      const valueOf = (name: string) =>
        operation.parameters?.find((parameter) => parameter.name === name)?.example;
      const url = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => String(valueOf(name)));
      expect(url).not.toContain('undefined');
      strange.push(edge.read(url, STRANGER));
    }
    await edge.settle();
    expect(edge.statements()).toBe(2);
    await edge.answerUntil(Promise.all(strange));
  });
});
