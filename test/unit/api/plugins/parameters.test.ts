import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { PARAMETERS_MAX, placeBeyond, readNoFurtherParameters } from '#api/plugins/parameters.ts';

const addressOf = (count: number): string =>
  `/x?${Array.from({ length: count }, (_, i) => `a${i}=`).join('&')}`;

it('of thousands of parameters no more are read than it takes to refuse them', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url!);
    response.end();
  });
  readNoFurtherParameters({ server });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const addresses = [PARAMETERS_MAX, PARAMETERS_MAX + 1, 2_000].map(addressOf);
  for (const address of addresses) await fetch(`http://127.0.0.1:${port}${address}`);
  expect(seen).toEqual([addresses[0], ...addresses.slice(1).map(() => `${addresses[0]}&`)]);
  expect(seen.map((address) => placeBeyond(address) !== -1)).toEqual([false, true, true]);
});
