import { expect, it } from 'vitest';
import { openExportEdge } from '#test/support/export-edge.ts';

const { ask, create, builder, stranger } = await openExportEdge();

it('organisations take turns: one that asks for several packs is not built before the others', async () => {
  const ours = [await create(), await create(), await create()];
  const answer = await ask('POST', '/exports', { token: stranger, body: {} });
  const theirs = answer.json<{ id: string }>().id;
  for (let job = 0; job < 4; job += 1) await builder.next();
  const begun = builder.said.filter(([what]) => what === 'started').map(([, id]) => id);
  expect(begun).toEqual([ours[0], theirs, ours[1], ours[2]]);
});
