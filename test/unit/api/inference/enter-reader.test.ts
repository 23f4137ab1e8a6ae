import { expect, it } from 'vitest';
import { enterReader, type ReadingDeps } from '#api/inference/enter-reader.ts';

it.each([
  ['a small body', { bytes: 4_096 }, false],
  ['a body above 64 KiB', { bytes: 65_537 }, true],
  ['a body of an organisation that sends many', { bytes: 4_097 }, true],
  ['a small body whose tokens are wanted', { bytes: 80, isCounted: true }, true],
])('%s is read where it holds up no others', async (_what, body, isOnThread) => {
  const entered: string[] = [];
  const deps = {
    readHere: { take: () => 1_000 },
    largeBodies: {
      enter: async (orgId: string) => void entered.push(orgId),
      warmSoon() {},
    },
  } as unknown as ReadingDeps;
  await enterReader(deps, { ...body, orgId: 'org_1' });
  expect(entered).toEqual(isOnThread ? ['org_1'] : []);
});
