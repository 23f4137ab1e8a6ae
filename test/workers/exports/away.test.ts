import { expect, it } from 'vitest';
import { SigningKeyProblem } from '#shared/receipts/signing/problem.ts';
import { type Away, AWAY } from '#shared/packs/export-record.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { openExportEdge } from '#test/support/export-edge.ts';
import { createBuilder } from '#test/support/export-runs.ts';
import { ORG } from '#test/support/packs.ts';

const { database, lab, store, ask, create } = await openExportEdge();
const registry = createExportRegistry(database.poolAs('docket_operator'), systemSurroundings);
let away: Away | null = null;
const builder = createBuilder(
  lab,
  database.poolAs('docket_exports'),
  {
    ...store,
    create: async (key, bytes) => {
      const upload = await store.create(key, bytes);
      return {
        ...upload,
        commit: () =>
          away === 'store' ? Promise.reject(new Error('AccessDenied')) : upload.commit(),
      };
    },
  },
  {
    signer: () => {
      if (away === 'key') throw new SigningKeyProblem('agent_away', 'It is away.');
      return lab.signer('packs');
    },
  },
);
/** What the clock would do in half a minute. */
const later = () =>
  database.pool.query(`update export set not_before = not_before - interval '30 s'`);

it.each(['store', 'key'] as const)(
  'an export whose %s is away waits for longer than ten runs, says so to its owner without an error, and is built when that is back',
  async (what) => {
    const id = await create();
    builder.said.length = 0;
    away = what;
    for (let look = 0; look < 12; look += 1) {
      await builder.runDue();
      await later();
    }
    expect(builder.said.filter(([said]) => said === 'held')).toEqual(
      Array.from({ length: 12 }, () => ['held', what]),
    );
    expect(await registry.get(ORG, id)).toMatchObject({ waitsBecause: AWAY[what] });
    const shown = (await ask('GET', `/exports/${id}`)).json<object>();
    expect(shown).toMatchObject({ status: 'queued', error: null });
    away = null;
    await builder.runDue();
    expect(builder.said.at(-1)).toEqual(['ready', id]);
    expect(await registry.get(ORG, id)).toMatchObject({ status: 'ready', waitsBecause: null });
  },
);

it('an export whose store is away for a day is given up, with the reason', async () => {
  const id = await create();
  away = 'store';
  await database.pool.query(`update export set created_at = now() - interval '1 day'`);
  await builder.runDue();
  expect(await registry.get(ORG, id)).toMatchObject({
    status: 'failed',
    error: { code: 'given_up', message: `It has waited for a day. ${AWAY.store}` },
  });
});
