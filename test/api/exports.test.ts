import { describe, expect, it, onTestFinished } from 'vitest';
import {
  EXPORTS_UNDER_WAY_MAX,
  PACK_BYTES_KEPT_MAX,
  PACKS_KEPT_MAX,
} from '#shared/packs/export-record.ts';
import { ORG } from '#test/support/packs.ts';
import { openExportEdge, STRANGER, codeOf } from '#test/support/export-edge.ts';

const { keyFor, stranger, told, ask, create, createReady, actionsOf, database, middle, size } =
  await openExportEdge();

describe('every endpoint', () => {
  it.each<['GET' | 'POST' | 'DELETE', string]>([
    ['POST', '/exports'],
    ['GET', '/exports'],
    ['GET', '/exports/exp_x'],
    ['GET', '/exports/exp_x/download'],
    ['DELETE', '/exports/exp_x'],
  ])('%s %s is 401 without a key, 403 without service:export', async (method, path) => {
    expect((await ask(method, path, { token: null })).statusCode).toBe(401);
    const reader = keyFor(ORG, ['service:read', 'service:lineage', 'admin:keys']);
    const answer = await ask(method, path, { token: reader });
    expect([answer.statusCode, codeOf(answer)]).toEqual([403, 'insufficient_scope']);
  });

  it('exports of others are 404 at every endpoint', async () => {
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
  it('an export without a range takes everything, and workers are told', async () => {
    const answer = await ask('POST', '/exports', { body: { format: 'evidence-pack' } });
    expect(answer.statusCode).toBe(202);
    const created = answer.json<{ id: string }>();
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
    expect(told).toHaveBeenCalledOnce();
    expect(await actionsOf(created.id)).toEqual(['export.requested']);
    await ask('DELETE', `/exports/${created.id}`);
  });

  it('the audit log says what was asked for beside the range that came of it', async () => {
    const from = '2020-01-01T00:00:00.000Z';
    const to = new Date(middle).toISOString();
    const details: unknown[] = [];
    for (const body of [{ from, to }, { last_index: 9 }, {}]) {
      const { id } = (await ask('POST', '/exports', { body })).json() as { id: string };
      const { rows } = await database.pool.query<{ details: string }>(
        `select details from audit_log where subject = $1 and action = 'export.requested'`,
        [id],
      );
      details.push(JSON.parse(rows[0]!.details));
      await ask('DELETE', `/exports/${id}`);
    }
    expect(details).toEqual([
      { first_index: 0, last_index: 39, checkpoint_size: size, asked_from: from, asked_to: to },
      { first_index: 0, last_index: 9, checkpoint_size: size, asked_last_index: 9 },
      { first_index: 0, last_index: size - 1, checkpoint_size: size },
    ]);
  });

  it('an export takes a range by time of integration [operations.export]', async () => {
    const at = new Date(middle).toISOString();
    for (const [body, first, last] of [
      [{ to: at }, 0, 39],
      [{ from: at }, 40, 74],
      [{ from: '2020-01-01', to: '2100-01-01T00:00:00Z' }, 0, 74],
    ] as const) {
      const answer = await ask('POST', '/exports', { body });
      expect(answer.json()).toMatchObject({ first_index: first, last_index: last });
      await ask('DELETE', `/exports/${answer.json<{ id: string }>().id}`);
    }
  });

  it('an export takes an older checkpoint', async () => {
    const answer = await ask('POST', '/exports', { body: { checkpoint_size: 40 } });
    expect(answer.json()).toMatchObject({ first_index: 0, last_index: 39, checkpoint_size: 40 });
    await ask('DELETE', `/exports/${answer.json<{ id: string }>().id}`);
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
  ])('POST /exports is 400 for %j', async (body, code) => {
    const answer = await ask('POST', '/exports', { body });
    expect([answer.statusCode, codeOf(answer)]).toEqual([400, code]);
  });

  it('POST /exports is 400 for an organisation without receipts', async () => {
    const token = keyFor('org_01JD0A8N5K3M7Q2T9VXB4C6DEY');
    expect(codeOf(await ask('POST', '/exports', { token, body: {} }))).toBe('invalid_range');
  });

  it.each([
    ['too many', PACKS_KEPT_MAX, 1, 'at most 168 packs'],
    ['too large', 1, PACK_BYTES_KEPT_MAX, 'at most 64 GiB of packs'],
  ])(
    'POST /exports is 429 when the packs that are kept are %s, until one is deleted [codes.exports]',
    async (_, count, bytes, why) => {
      onTestFinished(async () => {
        await database.pool.query('delete from export where org_id = $1', [STRANGER]);
      });
      await database.pool.query(
        `insert into export (id, org_id, status, first_index, last_index, checkpoint_size, size_bytes, sha256, expires_at)
         select 'exp_kept_' || i, $1, 'ready', 0, 0, 1, $2, repeat('0', 64), now() + interval '1 day'
         from generate_series(1, $3::int) as i`,
        [STRANGER, bytes, count],
      );
      const refused = await ask('POST', '/exports', { token: stranger, body: {} });
      expect([refused.statusCode, codeOf(refused)]).toEqual([429, 'concurrent_exports_exceeded']);
      expect(refused.json()).toMatchObject({ error: { message: expect.stringContaining(why) } });
      // Room comes with the first that expires; who asks again after an hour may find one deleted.
      expect(refused.headers['retry-after']).toBe('3600');
      await database.pool.query(
        `update export set expires_at = now() + interval '30 minutes' where id = 'exp_kept_1'`,
      );
      const sooner = await ask('POST', '/exports', { token: stranger, body: {} });
      // By the clocks of two processes, which may be set in between.
      const seconds = Number(sooner.headers['retry-after']);
      expect(Math.abs(seconds - 1_800)).toBeLessThan(60);
      await ask('DELETE', '/exports/exp_kept_1', { token: stranger });
      const taken = await ask('POST', '/exports', { token: stranger, body: {} });
      expect(taken.statusCode).toBe(202);
    },
  );

  it('POST /exports is 429 when too many are under way [codes.exports]', async () => {
    const token = keyFor(STRANGER);
    const all = await Promise.all(
      Array.from({ length: EXPORTS_UNDER_WAY_MAX + 3 }, (_, i) =>
        ask('POST', '/exports', { token, body: { from: `${2001 + i}-01-01` } }),
      ),
    );
    const refused = all.filter(({ statusCode }) => statusCode !== 202);
    expect(refused.map(codeOf)).toEqual(Array(3).fill('concurrent_exports_exceeded'));
    expect(refused[0]!.headers['retry-after']).toBe('10');
  });
});

describe('GET /exports', () => {
  it('GET /exports pages by id, newest first, as the cursor pages of the SDK expect', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push(await create({ first_index: i }));
    const first = (await ask('GET', '/exports?limit=2')).json<{ data: { id: string }[] }>();
    expect(first).toMatchObject({ object: 'list', has_more: true, last_id: first.data[1]!.id });
    expect(first.data.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    const second = (await ask('GET', `/exports?limit=2&after=${ids[1]}`)).json<typeof first>();
    expect(second.data[0]!.id).toBe(ids[0]);
    expect(codeOf(await ask('GET', '/exports?after=rcpt_1'))).toBe('invalid_after');
    expect(codeOf(await ask('GET', '/exports?limit=101'))).toBe('invalid_limit');
    for (const id of ids) await ask('DELETE', `/exports/${id}`);
  });
});
