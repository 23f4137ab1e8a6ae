import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Counter } from 'prom-client';
import {
  createRegistry,
  mergeMetrics,
  type HealthServer,
  type ReadinessCheck,
  serveHealth,
} from '#shared/process/health-server.ts';

const open: HealthServer[] = [];
const registry = createRegistry('api');

async function start(readiness: Record<string, ReadinessCheck> = {}): Promise<HealthServer> {
  const server = await serveHealth({
    port: 0,
    host: '127.0.0.1',
    readiness,
    registries: [registry],
  });
  open.push(server);
  return server;
}

const get = ({ port }: HealthServer, path: string, method = 'GET'): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, { method });

const never: ReadinessCheck = () => new Promise(() => {});

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

describe('/livez, /healthz and /startupz [operators.probes]', () => {
  it('the first two answer without any check; the third is 503 until the process has started', async () => {
    let asked = 0;
    const server = await start({
      redis: async () => {
        asked += 1;
      },
    });
    const statusOf = async (path: string): Promise<number> => (await get(server, path)).status;
    expect([await statusOf('/livez'), await statusOf('/healthz')]).toEqual([200, 200]);
    const starting = await get(server, '/startupz');
    expect([starting.status, await starting.json()]).toEqual([503, { status: 'starting' }]);
    server.setStarted();
    server.setDraining();
    expect([await statusOf('/livez'), await statusOf('/startupz')]).toEqual([200, 200]);
    expect(asked).toBe(0);
  });
});

describe('/readyz', () => {
  it('is 200 when every check passes', async () => {
    const server = await start({ postgres: async () => {}, redis: async () => {} });
    const answer = await get(server, '/readyz');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ status: 'ok', failing: [] });
  });

  it('is 503 and names the checks that reject, throw or hang, and asks all of them at once', async () => {
    const nextIsAsked = Promise.withResolvers<void>();
    const server = await start({
      postgres: () => Promise.reject(new Error('down')),
      keys: () => {
        throw new Error('missing');
      },
      redis: never,
      // Would hang too, were the next check asked only after it.
      lanes: () => nextIsAsked.promise,
      catalogue: async () => nextIsAsked.resolve(),
    });
    const answer = await get(server, '/readyz');
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({
      status: 'unavailable',
      failing: ['postgres', 'keys', 'redis'],
    });
  });

  it('is 200 and says what is missing while the process can do without that', async () => {
    let holdsKeys = true;
    let redis: ReadinessCheck = async () => {};
    const server = await start();
    const readiness = { redis: () => redis(), postgres: () => Promise.reject(new Error('down')) };
    server.setReadiness(readiness, { postgres: () => holdsKeys });
    const answer = await get(server, '/readyz');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ status: 'degraded', failing: ['postgres'] });
    redis = () => Promise.reject(new Error('down'));
    expect((await get(server, '/readyz')).status).toBe(503);
    redis = async () => {};
    holdsKeys = false;
    expect((await get(server, '/readyz')).status).toBe(503);
  });

  it('does not ask a check again while it hangs', async () => {
    let asked = 0;
    const server = await start({
      postgres: () => {
        asked += 1;
        return never();
      },
    });
    await Promise.all(Array.from({ length: 8 }, () => get(server, '/readyz')));
    expect(asked).toBe(1);
  });

  it('is 503 as soon as the process drains', async () => {
    const server = await start({ postgres: async () => {} });
    server.setDraining();
    expect((await get(server, '/readyz')).status).toBe(503);
    expect((await get(server, '/healthz')).status).toBe(200);
  });
});

describe('/metrics', () => {
  it('serves the registry in the text format, with the role on every series', async () => {
    new Counter({ name: 'docket_test_total', help: 'x', registers: [registry] }).inc(3);
    const answer = await get(await start(), '/metrics');
    expect(answer.headers.get('content-type')).toBe(registry.contentType);
    expect(await answer.text()).toContain('docket_test_total{role="api"} 3');
  });
});

it('roles that share a process share one page of metrics: each is described once, with the series of all', async () => {
  const registries = ['ledger', 'purge'].map((role) => createRegistry(role, role === 'ledger'));
  for (const one of registries) {
    new Counter({ name: 'docket_shared_total', help: 'by role', registers: [one] }).inc(2);
  }
  const only = {
    name: 'docket_lone',
    help: 'of one',
    labelNames: ['x'],
    registers: [registries[1]!],
  };
  new Counter(only).inc({ x: '# HELP not_a_metric' });
  const text = mergeMetrics(await Promise.all(registries.map((one) => one.metrics())));
  expect(text.match(/^# HELP docket_shared_total/gm)).toHaveLength(1);
  expect(text.match(/^# TYPE docket_shared_total counter$/gm)).toHaveLength(1);
  expect(text).toContain(
    'docket_shared_total{role="ledger"} 2\ndocket_shared_total{role="purge"} 2',
  );
  expect(text).toContain('docket_lone{x="# HELP not_a_metric",role="purge"} 1');
  expect(text.match(/^process_cpu_seconds_total/gm)).toHaveLength(1);
});

describe('the health server', () => {
  it('answers other paths with 404, and other methods with 405', async () => {
    const server = await start();
    expect((await get(server, '/')).status).toBe(404);
    expect((await get(server, '/__proto__')).status).toBe(404);
    expect((await get(server, '/metrics', 'POST')).status).toBe(405);
  });

  it('fails to start with an error when its port is taken', async () => {
    const { port } = await start();
    const again = serveHealth({ port, host: '127.0.0.1', readiness: {}, registries: [registry] });
    await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('closes although a scraper keeps its connection open', async () => {
    const server = await start();
    await (await get(server, '/metrics')).text();
    await server.close();
    await expect(get(server, '/healthz')).rejects.toThrow();
  });
});

describe('connections of the port', () => {
  it('are few: the oldest goes when another comes, so that a probe gets in', async () => {
    const server = await start();
    const [first, ...others] = Array.from({ length: 64 }, () => connect(server.port, '127.0.0.1'));
    const closed = new Promise((resolve) => first!.once('close', resolve));
    await Promise.all([first!, ...others].map((socket) => once(socket, 'connect')));
    expect((await get(server, '/healthz')).status).toBe(200);
    await closed;
    for (const socket of others) socket.destroy();
  });
});
