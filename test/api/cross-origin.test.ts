import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';

const PAGE = 'https://chat.example';

async function serve(burst = 100): Promise<(path: string, init: RequestInit) => Promise<Response>> {
  const app = await buildTestApp(NO_DATABASE, {
    corsOrigins: [PAGE, 'app://obsidian.md'],
    perAddress: { requestsPerSecond: 0.001, burst },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
}

/** What of an answer lets a page of another origin read it. */
function openness({ headers }: Response): Record<string, string> {
  const ofOrigins = [...headers].filter(([name]) => /^(access-control-|vary$)/.test(name));
  return Object.fromEntries(ofOrigins);
}

it('a preflight of a listed origin is answered with what it asks for, without a key and a count [limits.origins]', async () => {
  const ask = await serve(1);
  for (const origin of [PAGE, PAGE, 'app://obsidian.md']) {
    const answer = await ask('/v1/chat/completions', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-stainless-os',
      },
    });
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    expect(openness(answer)).toEqual({
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-expose-headers': '*',
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
      'access-control-max-age': '7200',
    });
  }
});

it('a page of a listed origin reads refusals, those before routing too; no other page reads anything, and none sends cookies [limits.origins]', async () => {
  const ask = await serve(1);
  const headers = { origin: PAGE };
  const opened = {
    vary: 'Origin',
    'access-control-allow-origin': PAGE,
    'access-control-expose-headers': '*',
  };
  for (const status of [401, 429]) {
    const refused = await ask('/v1/models', { headers });
    expect([refused.status, openness(refused)]).toEqual([status, opened]);
  }
  for (const origin of ['https://chat.example.evil', 'http://chat.example', 'null']) {
    const other = await serve();
    const asked = { origin, 'access-control-request-method': 'POST' };
    const preflight = await other('/v1/models', { method: 'OPTIONS', headers: asked });
    expect([preflight.status, openness(preflight)]).toEqual([405, { vary: 'Origin' }]);
    const answer = await other('/v1/models', { headers: { origin } });
    expect([answer.status, openness(answer)]).toEqual([401, { vary: 'Origin' }]);
  }
  const page = await (await serve())('/status', { headers });
  expect(openness(page)).not.toHaveProperty('access-control-allow-origin');
});

it('without listed origins nothing is said of any [limits.origins]', async () => {
  const app = await buildTestApp(NO_DATABASE);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/v1/models`, { headers: { origin: PAGE } });
  expect(openness(answer)).toEqual({});
});
