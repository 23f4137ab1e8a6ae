import { setTimeout as delay } from 'node:timers/promises';
import { ROLES } from '#shared/config/settings.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import type { Ground } from './ground.ts';
import { fileOf, run } from './product.ts';

const ANSWERS = 60;
const AT_ONCE = 12;
/** The promise for a process that hears no notice. */
const REVOKED_MS = 5_000;
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;
const MS_PER_S = 1_000;

/** Each returns what it has seen, in a line or more, or throws. */
type Check = (ground: Ground) => Promise<string>;

export const CHECKS: readonly (readonly [string, Check])[] = [
  ['a process that is not told of PgBouncer refuses to start', untold],
  ['a wrong password and a missing database are refused in one line', refusals],
  ['every process is ready, without a direct connection', ready],
  ['answers have their receipts', answers],
  ['receipts are proven, listed, summed up and packed', evidence],
  ['a revoked key is refused without notices', revocation],
  ['processes outlive PgBouncer', killed],
  ['a replica is read while it is near', replica],
  ['docket doctor says which connection is which', doctor],
  ['a replica that is held up or killed fails no request', replicaLost],
  ['docket ledger fsck', sound],
];

async function untold(ground: Ground): Promise<string> {
  let said = '';
  for (const role of ROLES.filter((name) => name !== 'inference')) {
    const { code, lines } = await run(fileOf(role), ground.envOf(role, {}));
    must(code === 78 && lines.at(-1)!.endsWith('set DATABASE_POOLER=transaction.'), lines);
    said = lines.at(-1)!;
  }
  return said;
}

async function refusals(ground: Ground): Promise<string> {
  const url = ground.urlOf('api');
  const lines = [];
  for (const DATABASE_URL of [url.replace(/:[^:@]+@/, ':other@'), url.replace(/\w+$/, 'other')]) {
    const env = { ...ground.envOf('api'), DATABASE_URL };
    const refused = await run(fileOf('api'), env);
    must(refused.code === 78, refused.lines);
    lines.push(refused.lines.at(-1)!);
  }
  return lines.join('\n');
}

async function ready(ground: Ground): Promise<string> {
  for (const role of ROLES) await ground.startRole(role);
  return ROLES.join(', ');
}

async function answers(ground: Ground): Promise<string> {
  const ids = await answer(ground, ANSWERS);
  for (const id of ids) must((await ask(ground, `/receipts/${id}`)).status === 200, id);
  return `${ids.length}, ${AT_ONCE} at once, each found by its id`;
}

async function evidence(ground: Ground): Promise<string> {
  const [id] = await answer(ground, 1);
  await until('the receipt has its proof', async () => {
    return (await ask(ground, `/receipts/${id}/proof`)).status === 200;
  });
  const { body } = await ask(ground, '/receipts?limit=100');
  const listed = (body['data'] as unknown as unknown[]).length;
  must(listed > ANSWERS, body);
  must((await ask(ground, '/usage?group_by=model')).status === 200, 'usage');
  const asked = await ask(ground, '/exports', { method: 'POST', body: '{}' });
  must(asked.status < 300, asked.body);
  await until('the pack is ready', async () => {
    const pack = await ask(ground, `/exports/${asked.body['id'] as unknown as string}`);
    must((pack.body['status'] as unknown) !== 'failed', pack.body);
    return (pack.body['status'] as unknown) === 'ready';
  });
  return `${listed} listed`;
}

async function revocation(ground: Ground): Promise<string> {
  const org = ground.demo.organisations.enterprise;
  const act = ['--reason', 'a trial'];
  const issue = ['keys', 'issue', '--org', org, '--name', 'lab', '--json'];
  const issued = await ground.docket(...issue, ...act);
  must(issued.code === 0, issued.lines);
  const { id, key } = JSON.parse(issued.lines.join('\n')) as { id: string; key: string };
  const statusOf = async () => (await ask(ground, '/models', {}, key)).status;
  must((await statusOf()) === 200, 'the key');
  const revoked = await ground.docket('keys', 'revoke', id, '--org', org, ...act);
  const at = performance.now();
  must(revoked.code === 0, revoked.lines);
  await until('the key is refused', async () => (await statusOf()) === 401);
  const tookMs = performance.now() - at;
  must(tookMs < REVOKED_MS, `${tookMs} ms`);
  return `${(tookMs / MS_PER_S).toFixed(1)} s after the command had ended`;
}

async function killed(ground: Ground): Promise<string> {
  await ground.killPgBouncer();
  const { status } = await complete(ground);
  await ground.startPgBouncer();
  await until('answers have receipts', async () => (await complete(ground)).status === 200);
  return `${status} while it was away, for who insists on the receipt`;
}

async function replica(ground: Ground): Promise<string> {
  await ground.startRole('api', replicaOf(ground));
  await until('the replica is used', () => isUsed(ground));
  must((await ask(ground, '/receipts?limit=5')).status === 200, 'the list');
  return `${await metric(ground, 'docket_reads_total{from="replica"')}\n${await metric(ground, 'docket_replica_lag_seconds')}`;
}

async function doctor(ground: Ground): Promise<string> {
  const env = { ...ground.envOf('api'), ...replicaOf(ground) };
  const { lines } = await run('cli/start.js', env, ['doctor', '--no-upstreams']);
  const told = lines.filter((line) => /^[✓!✗-] (?:PostgreSQL|statement)/.test(line));
  must(
    told.some((line) => line.includes('pooled by transaction')),
    lines,
  );
  const untoldEnv = ground.envOf('api', {});
  const untoldLines = await run('cli/start.js', untoldEnv, ['doctor', '--no-upstreams']);
  const found = untoldLines.lines.findIndex((line) => line.startsWith('✗ PostgreSQL connection'));
  must(found >= 0, untoldLines.lines);
  return [...told, 'and untold:', ...untoldLines.lines.slice(found, found + 2)].join('\n');
}

async function replicaLost(ground: Ground): Promise<string> {
  const list = async () =>
    must((await ask(ground, '/receipts?limit=5')).status === 200, 'the list');
  const held = createPool({ url: ground.replica.url, max: 1, applicationName: 'lab' });
  try {
    await held.query('select pg_wal_replay_pause()');
    await answer(ground, AT_ONCE);
    await until('the replica is left out', async () => !(await isUsed(ground)));
    await list();
    await held.query('select pg_wal_replay_resume()');
  } finally {
    await held.end();
  }
  await until('the replica is used again', () => isUsed(ground));
  ground.replica.kill();
  const at = performance.now();
  for (let time = 0; time < AT_ONCE; time += 1) await list();
  return `${AT_ONCE} lists in ${((performance.now() - at) / MS_PER_S).toFixed(1)} s from the moment of its death`;
}

async function sound(ground: Ground): Promise<string> {
  const { code, lines } = await ground.docket('ledger', 'fsck');
  must(code === 0, lines);
  return lines.at(-1)!;
}

const replicaOf = (ground: Ground) => ({
  DATABASE_DIRECT_URL: ground.urlOf('api', 'direct'),
  DATABASE_READ_URL: ground.urlOf('api', 'replica'),
});

async function metric({ api }: Ground, name: string): Promise<string> {
  const text = await (await fetch(`http://127.0.0.1:${api.metricsPort}/metrics`)).text();
  return text.split('\n').find((line) => line.startsWith(name)) ?? `${name} is not there`;
}

const isUsed = async (ground: Ground): Promise<boolean> =>
  (await metric(ground, 'docket_replica_used')).endsWith(' 1');

async function ask(
  { api, demo }: Ground,
  path: string,
  init: RequestInit = {},
  key = demo.keys.enterprise,
) {
  const response = await fetch(`http://127.0.0.1:${api.port}/v1${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return {
    status: response.status,
    body: (isJson ? JSON.parse(text) : {}) as Record<string, never>,
  };
}

const complete = (ground: Ground) =>
  ask(ground, '/chat/completions', {
    method: 'POST',
    body: JSON.stringify({
      model: 'llama-3.1-8b',
      messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
      receipt: 'required',
    }),
  });

/** Ids of the receipts of so many answers. */
async function answer(ground: Ground, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const wanted = Math.min(AT_ONCE, count - ids.length);
    for (const { status, body } of await Promise.all(
      Array.from({ length: wanted }, () => complete(ground)),
    )) {
      const { id = '' } = (body['receipt'] ?? {}) as { id?: string };
      must(status === 200 && id !== '', body);
      ids.push(id.slice(id.lastIndexOf('/') + 1));
    }
  }
  return ids;
}

function must(holds: boolean, otherwise: unknown): void {
  if (!holds) throw new Error(JSON.stringify(otherwise));
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`);
    await delay(LOOK_MS);
  }
}
