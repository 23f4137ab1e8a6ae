import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { type CountDeps, countTokens } from '#api/inference/count-tokens.ts';

it('a count whose client has left while it waited for a thread is not begun, and lets the next one in [limits.reading]', async () => {
  const done: string[] = [];
  const reader = {
    read: () => expect.fail('it was read'),
    leave: () => done.push('left the thread'),
  };
  let hasLeft = false;
  const deps = {
    largeBodies: {
      warmSoon: () => {},
      enter: async () => {
        hasLeft = true;
        return reader;
      },
    },
  } as unknown as CountDeps;
  const request = {
    id: 'req_1',
    headers: {},
    credential: { orgId: 'org_1' },
    body: { rawBody: Buffer.from('{}') },
    intake: { keep() {}, release: () => done.push('released its body') },
  } as unknown as FastifyRequest;
  expect(await countTokens(deps, request, () => hasLeft)).toBeNull();
  expect(done).toEqual(['left the thread', 'released its body']);
});
