import { expect, it } from 'vitest';
import { enterReader, READ_HERE, type ReadingDeps } from '#api/inference/enter-reader.ts';
import { MemoryRates } from '#api/plugins/memory-rates.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { compilePack } from '#shared/screening/screen.ts';
import { CAKES } from '#test/unit/screening/policies.ts';
import { CREDENTIAL, NOW, REQUEST_ID } from './doubles.ts';

it.each([
  ['a small body', { bytes: 4_096 }, false],
  ['a body above 64 KiB', { bytes: 65_537 }, true],
  ['a body of an organisation that sends many', { bytes: 4_097 }, true],
  ['a small body whose tokens are wanted', { bytes: 80, isCounted: true }, true],
])('%s is read where it holds up no others', async (_what, body, isOnThread) => {
  const entered: string[] = [];
  const deps = {
    readHere: { take: () => 1_000, spend() {}, waitOf: () => 0 },
    largeBodies: {
      enter: async (orgId: string) => void entered.push(orgId),
      warmSoon() {},
    },
  } as unknown as ReadingDeps;
  await enterReader(deps, { ...body, orgId: 'org_1' });
  expect(entered).toEqual(isOnThread ? ['org_1'] : []);
});

it('small bodies of an organisation that are screened in many ways are read on threads behind a burst, and those of others are not', async () => {
  const onThreads: string[] = [];
  const deps = {
    newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA',
    processId: 'api-1',
    shards: 1,
    screen: compilePack(CAKES),
    tokens: createTokenCounter(),
    readHere: new MemoryRates(READ_HERE, () => 0),
    largeBodies: {
      enter: async (orgId: string) => void onThreads.push(orgId),
      warmSoon() {},
    },
  } as unknown as ReadingDeps;
  const part = (text: string) => ({ type: 'input_text', text });
  const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
  const file = { type: 'input_file', file_data: 'data:text/plain;base64,aGVsbG8=' };
  const words = 'one two '.repeat(160);
  const input = [
    { role: 'user', content: [part(`${words}a`), image, file, part(`b${words}`)] },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
  ];
  const read = async (orgId: string, body: object): Promise<void> => {
    const rawBody = Buffer.from(JSON.stringify({ model: 'm', ...body }));
    expect(rawBody.length).toBeLessThan(4_096);
    const reader = await enterReader(deps, { bytes: rawBody.length, orgId });
    if (reader === undefined) return;
    const credential = { ...CREDENTIAL, orgId };
    const request = {
      id: REQUEST_ID,
      route: 'responses',
      rawBody,
      headers: {},
      credential,
    } as const;
    await reader.read({ ...request, now: NOW });
    await reader.readPrompt({ id: 'm', contextWindow: 100_000 });
  };
  for (let i = 0; i < 100; i += 1) await read('org_1', { input });
  for (let i = 0; i < 100; i += 1) await read('org_2', { input: words });
  expect(onThreads.length).toBeGreaterThan(80);
  expect(new Set(onThreads)).toEqual(new Set(['org_1']));
});
