import { hash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authenticate } from '../../api/plugins/authenticate.ts';
import { replyWithError } from '../../api/plugins/reply-with-error.ts';
import { validateParameters } from '../../api/plugins/validate-parameters.ts';
import { exportRoutes } from '../../api/routes/exports.ts';
import { verifyPack } from '../../cli/verify/verify-pack.ts';
import { createAuditLog } from '../../shared/adapters/postgres/audit.ts';
import {
  createExportRegistry,
  EXPORTS_UNDER_WAY_MAX,
} from '../../shared/adapters/postgres/exports.ts';
import { openExportStore } from '../../shared/adapters/storage/open-store.ts';
import { systemSurroundings } from '../../shared/adapters/system/surroundings.ts';
import type { Credential, Scope } from '../../shared/domain/credential.ts';
import { KEY_LENGTH } from '../../shared/domain/keys/format.ts';
import { createTestDatabase } from '../support/database.ts';
import { createBuilder } from '../support/export-runs.ts';
import { ORG, PackLab } from '../support/packs.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-exports-'));
const lab = new PackLab(database.pool, directory);
const store = openExportStore({ location: join(directory, 'packs'), region: 'x' });
const api = database.poolAs('docket_api');
const audit = createAuditLog(api, systemSurroundings);
const builder = createBuilder(lab, database.poolAs('docket_exports'), store);
const STRANGER = 'org_01JD0A8N5K3M7Q2T9VXB4C6DEZ';

const credentials = new Map<string, Credential>();
function keyFor(organisationId: string, scopes: readonly Scope[] = ['service:export']): string {
  const token = String(credentials.size).padStart(KEY_LENGTH, 'k');
  credentials.set(token, {
    keyId: 'key_test',
    organisationId,
    keyState: 'active',
    expiresAt: null,
    scopes,
    plan: 'enterprise',
    accountState: 'active',
    limits: { requestsPerSecond: 1, burst: 1, requestsPerDay: 1, concurrentStreams: 1 },
    keyLimit: null,
  });
  return token;
}
const key = keyFor(ORG);
const stranger = keyFor(STRANGER);

const handed: string[] = [];
const app = Fastify();
afterAll(() => app.close());
replyWithError(app, { onInternalError() {}, onRefusal() {} });
validateParameters(app);
await app.register(authenticate, {
  credentials: { lookup: (token) => credentials.get(token) ?? null },
  keyUse: { used() {} },
});
await app.register(
  async (v1) => {
    await v1.register(exportRoutes, {
      exports: createExportRegistry(api, systemSurroundings),
      store,
      start: (id) => handed.push(id),
      onStoreError: () => {},
    });
  },
  { prefix: '/v1' },
);

interface Asking {
  token?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
}
const ask = (method: 'GET' | 'POST' | 'DELETE' | 'HEAD', path: string, asking: Asking = {}) => {
  const { token = key, body, headers = {} } = asking;
  return app.inject({
    method,
    url: `/v1${path}`,
    headers: { ...headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { payload: body as object }),
  });
};
const codeOf = (answer: { body: string }): string =>
  (JSON.parse(answer.body) as { error: { code: string } }).error.code;
const create = async (body: object = {}): Promise<string> => {
  const answer = await ask('POST', '/exports', { body });
  expect(answer.statusCode).toBe(202);
  return (answer.json() as { id: string }).id;
};
const createReady = async (body: object = {}): Promise<string> => {
  const id = await create(body);
  await builder.run(id);
  return id;
};
const actionsOf = async (id: string): Promise<string[]> => {
  const { items } = await audit.list({ organisationId: ORG, limit: 100, order: 'asc' });
  return items.filter(({ subject }) => subject === id).map(({ action }) => action);
};

let middle: number;
let size: number;

beforeAll(async () => {
  await lab.issue(40);
  await lab.integrate();
  // Times of integration are told apart by the millisecond.
  const { rows } = await database.pool.query<{ at: Date }>(
    'select max(integrated_at) as at from ledger_entry',
  );
  middle = rows[0]!.at.getTime() + 1;
  await database.pool.query('select pg_sleep(0.005)');
  await lab.issue(35);
  await lab.issue(2, 'measured', STRANGER);
  size = await lab.integrate();
});

describe('every endpoint', () => {
  it.each<['GET' | 'POST' | 'DELETE', string]>([
    ['POST', '/exports'],
    ['GET', '/exports'],
    ['GET', '/exports/exp_x'],
    ['GET', '/exports/exp_x/download'],
    ['DELETE', '/exports/exp_x'],
  ])('%s %s: 401 without a key, 403 without service:export', async (method, path) => {
    expect((await ask(method, path, { token: null })).statusCode).toBe(401);
    const reader = keyFor(ORG, ['service:read', 'service:lineage', 'admin:keys']);
    const answer = await ask(method, path, { token: reader });
    expect([answer.statusCode, codeOf(answer)]).toEqual([403, 'insufficient_scope']);
  });

  it('knows nothing of the exports of others: 404', async () => {
    const id = await createReady();
    for (const [method, path] of [
      ['GET', `/exports/${id}`],
      ['GET', `/exports/${id}/download`],
      ['DELETE', `/exports/${id}`],
    ] as const) {
      const answer = await ask(method, path, { token: stranger });
      expect([answer.statusCode, codeOf(answer)]).toEqual([404, 'export_not_found']);
    }
    expect((await ask('GET', '/exports', { token: stranger })).json()).toMatchObject({ data: [] });
    expect((await ask('GET', `/exports/${id}`)).statusCode).toBe(200);
  });
});

describe('POST /exports', () => {
  it('queues everything when no range is named, and hands it out', async () => {
    const answer = await ask('POST', '/exports', { body: { format: 'evidence-pack' } });
    expect(answer.statusCode).toBe(202);
    const created = answer.json() as { id: string };
    expect(created).toEqual({
      object: 'export',
      id: expect.stringMatching(/^exp_/),
      status: 'queued',
      format: 'evidence-pack',
      first_index: 0,
      last_index: size - 1,
      checkpoint_size: size,
      progress: { done: 0, total: size },
      file_name: expect.stringMatching(/^evidence-pack-.*-0-74-at-75\.zip$/),
      size_bytes: null,
      sha256: null,
      error: null,
      created_at: expect.stringMatching(/Z$/),
      started_at: null,
      finished_at: null,
      expires_at: null,
    });
    expect(answer.headers['location']).toBe(`/v1/exports/${created.id}`);
    expect(handed.at(-1)).toBe(created.id);
    expect(await actionsOf(created.id)).toEqual(['export.requested']);
    await ask('DELETE', `/exports/${created.id}`);
  });

  it('takes a range by time of integration', async () => {
    const at = new Date(middle).toISOString();
    for (const [body, first, last] of [
      [{ to: at }, 0, 39],
      [{ from: at }, 40, 74],
      [{ from: '2020-01-01', to: '2100-01-01T00:00:00Z' }, 0, 74],
    ] as const) {
      const answer = await ask('POST', '/exports', { body });
      expect(answer.json()).toMatchObject({ first_index: first, last_index: last });
      await ask('DELETE', `/exports/${(answer.json() as { id: string }).id}`);
    }
  });

  it('takes an older checkpoint', async () => {
    const answer = await ask('POST', '/exports', { body: { checkpoint_size: 40 } });
    expect(answer.json()).toMatchObject({ first_index: 0, last_index: 39, checkpoint_size: 40 });
    await ask('DELETE', `/exports/${(answer.json() as { id: string }).id}`);
  });

  it.each<[object, string]>([
    [{ first_index: 5, last_index: 4 }, 'invalid_first_index'],
    [{ first_index: 75 }, 'invalid_first_index'],
    [{ last_index: 75 }, 'invalid_last_index'],
    [{ first_index: -1 }, 'invalid_first_index'],
    [{ first_index: 1.5 }, 'invalid_first_index'],
    [{ first_index: '1' }, 'invalid_first_index'],
    [{ from: 'yesterday' }, 'invalid_from'],
    [{ to: 'soon' }, 'invalid_to'],
    [{ from: '2100-01-01T00:00:00Z' }, 'invalid_from'],
    [{ from: '2020-01-01', first_index: 1 }, 'invalid_from'],
    [{ checkpoint_size: 74 }, 'invalid_checkpoint_size'],
    [{ format: 'csv' }, 'invalid_format'],
    [{ rang: 1 }, 'invalid_rang'],
  ])('400 for %j', async (body, code) => {
    const answer = await ask('POST', '/exports', { body });
    expect([answer.statusCode, codeOf(answer)]).toEqual([400, code]);
  });

  it('400 for an organisation without receipts', async () => {
    const token = keyFor('org_01JD0A8N5K3M7Q2T9VXB4C6DEY');
    expect(codeOf(await ask('POST', '/exports', { token, body: {} }))).toBe('invalid_range');
  });

  it('429 when too many are under way', async () => {
    const token = keyFor(STRANGER);
    const all = await Promise.all(
      Array.from({ length: EXPORTS_UNDER_WAY_MAX + 3 }, () =>
        ask('POST', '/exports', { token, body: {} }),
      ),
    );
    const refused = all.filter(({ statusCode }) => statusCode !== 202);
    expect(refused.map(codeOf)).toEqual(Array(3).fill('concurrent_exports_exceeded'));
    expect(refused[0]!.headers['retry-after']).toBe('10');
  });
});

describe('GET /exports', () => {
  it('pages by id, newest first, as the cursor pages of the SDK expect', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push(await create({ first_index: i }));
    const first = (await ask('GET', '/exports?limit=2')).json() as { data: { id: string }[] };
    expect(first).toMatchObject({ object: 'list', has_more: true, last_id: first.data[1]!.id });
    expect(first.data.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    const second = (await ask('GET', `/exports?limit=2&after=${ids[1]}`)).json() as typeof first;
    expect(second.data[0]!.id).toBe(ids[0]);
    expect(codeOf(await ask('GET', '/exports?after=rcpt_1'))).toBe('invalid_after');
    expect(codeOf(await ask('GET', '/exports?limit=101'))).toBe('invalid_limit');
    for (const id of ids) await ask('DELETE', `/exports/${id}`);
  });
});

describe('GET /exports/{id}/download', () => {
  it('gives the pack, named, with its digest, and it verifies', async () => {
    const id = await createReady();
    const { sha256, size_bytes, file_name } = (await ask('GET', `/exports/${id}`)).json() as {
      sha256: string;
      size_bytes: number;
      file_name: string;
    };
    const answer = await ask('GET', `/exports/${id}/download`);
    expect(answer.statusCode).toBe(200);
    expect(hash('sha256', answer.rawPayload)).toBe(sha256);
    expect(answer.headers).toMatchObject({
      etag: `"${sha256}"`,
      'accept-ranges': 'bytes',
      'content-type': 'application/zip',
      'content-length': String(size_bytes),
      'content-disposition': `attachment; filename="${file_name}"`,
      'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    });
    const file = join(directory, 'fetched.zip');
    writeFileSync(file, answer.rawPayload);
    const didJson = lab.documents.didDocument();
    expect(await verifyPack(file, { didJson, now: Date.now() })).toMatchObject({ good: true });
    expect(await actionsOf(id)).toEqual(['export.requested', 'export.ready', 'export.downloaded']);
  });

  it('gives parts, which make the whole', async () => {
    const id = await createReady();
    const whole = (await ask('GET', `/exports/${id}/download`)).rawPayload;
    const part = async (range: string, headers: Record<string, string> = {}) =>
      ask('GET', `/exports/${id}/download`, { headers: { range, ...headers } });
    const first = await part('bytes=0-999');
    expect(first.statusCode).toBe(206);
    expect(first.headers['content-range']).toBe(`bytes 0-999/${whole.length}`);
    expect(first.headers['content-length']).toBe('1000');
    const rest = await part('bytes=1000-');
    expect(Buffer.concat([first.rawPayload, rest.rawPayload]).equals(whole)).toBe(true);
    const last = await part('bytes=-98');
    expect(last.rawPayload.equals(whole.subarray(-98))).toBe(true);
    expect(last.headers['content-range']).toBe(
      `bytes ${whole.length - 98}-${whole.length - 1}/${whole.length}`,
    );
  });

  it('416 beyond the end, the whole for several ranges or another file', async () => {
    const id = await createReady();
    const { headers } = await ask('GET', `/exports/${id}/download`);
    const length = Number(headers['content-length']);
    const get = (more: Record<string, string>) =>
      ask('GET', `/exports/${id}/download`, { headers: more });
    const beyond = await get({ range: `bytes=${length}-` });
    expect([beyond.statusCode, codeOf(beyond)]).toEqual([416, 'range_not_satisfiable']);
    expect(beyond.headers['content-range']).toBe(`bytes */${length}`);
    expect((await get({ range: 'bytes=0-1,5-6' })).statusCode).toBe(200);
    expect((await get({ range: 'bytes=0-9', 'if-range': '"other"' })).statusCode).toBe(200);
    expect(
      (await get({ range: 'bytes=0-9', 'if-range': String(headers['etag']) })).statusCode,
    ).toBe(206);
    expect((await get({ 'if-none-match': String(headers['etag']) })).statusCode).toBe(304);
  });

  it('tells a HEAD how large it is', async () => {
    const id = await createReady();
    const answer = await ask('HEAD', `/exports/${id}/download`, {
      headers: { range: 'bytes=0-9' },
    });
    expect([answer.statusCode, answer.rawPayload.length]).toEqual([200, 0]);
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(10_000);
    expect(await actionsOf(id)).not.toContain('export.downloaded');
  });

  it('409 before it is ready, 409 when it failed, 410 when it expired', async () => {
    const id = await create();
    const waiting = await ask('GET', `/exports/${id}/download`);
    expect([waiting.statusCode, codeOf(waiting)]).toEqual([409, 'export_not_ready']);
    expect(waiting.headers['retry-after']).toBe('2');
    await builder.run(id);
    await database.pool.query(`update export set status = 'expired' where id = $1`, [id]);
    expect([(await ask('GET', `/exports/${id}/download`)).statusCode]).toEqual([410]);
    const failing = await create();
    await database.pool.query(
      `update export set status = 'failed', error_code = 'x', error_message = 'Because.' where id = $1`,
      [failing],
    );
    const failed = await ask('GET', `/exports/${failing}/download`);
    expect([failed.statusCode, codeOf(failed)]).toEqual([409, 'export_failed']);
    expect((await ask('GET', `/exports/${failing}`)).json()).toMatchObject({
      status: 'failed',
      error: { code: 'x', message: 'Because.' },
    });
  });
});

describe('DELETE /exports/{id}', () => {
  it('deletes a finished pack from the store', async () => {
    const id = await createReady();
    expect(await store.size(id)).toBeGreaterThan(0);
    expect((await ask('DELETE', `/exports/${id}`)).statusCode).toBe(204);
    expect(await store.size(id)).toBeNull();
    expect((await ask('GET', `/exports/${id}`)).statusCode).toBe(404);
    expect((await ask('DELETE', `/exports/${id}`)).statusCode).toBe(404);
    expect(await actionsOf(id)).toEqual(['export.requested', 'export.ready', 'export.deleted']);
  });

  it('cancels one that waits: it is never built', async () => {
    const id = await create();
    expect((await ask('DELETE', `/exports/${id}`)).statusCode).toBe(204);
    await builder.run(id);
    expect(await store.size(id)).toBeNull();
    expect(await actionsOf(id)).toEqual(['export.requested', 'export.cancelled']);
  });
});

describe('a repeated export', () => {
  it('of the same range at the same checkpoint has the same bytes', async () => {
    const body = { first_index: 3, last_index: 60, checkpoint_size: size };
    const one = await createReady(body);
    await lab.issue(10);
    await lab.integrate();
    const two = await createReady(body);
    const digest = async (id: string) =>
      ((await ask('GET', `/exports/${id}`)).json() as { sha256: string }).sha256;
    expect(await digest(one)).toBe(await digest(two));
  });
});
