import { expect, it } from 'vitest';
import { openExportEdge } from '#test/support/export-edge.ts';

const { ask, create, builder, stranger } = await openExportEdge();

const begun = (): string[] =>
  builder.said.filter(([what]) => what === 'started').map(([, id]) => id);

it('organisations take turns, and one job serves all that wait: one that asks for several packs is not built before the others', async () => {
  const ours = [await create(), await create(), await create()];
  const theirs = await create(undefined, stranger);
  await builder.runDue();
  expect(begun()).toEqual([ours[0], theirs, ours[1], ours[2]]);
});

it('an organisation that deletes its packs has no turn before others for it', async () => {
  const before = [await create(undefined, stranger)];
  await builder.runDue();
  before.push(await create());
  await builder.runDue();
  const { data } = (await ask('GET', '/exports')).json<{ data: { id: string }[] }>();
  for (const { id } of data) await ask('DELETE', `/exports/${id}`);
  const [ours, theirs] = [await create(), await create(undefined, stranger)];
  await builder.runDue();
  expect(begun().slice(-4)).toEqual([...before, theirs, ours]);
});
