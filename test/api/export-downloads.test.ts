import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { ORG } from '#test/support/packs.ts';
import { openExportEdge, codeOf } from '#test/support/export-edge.ts';

const {
  database,
  directory,
  lab,
  store,
  builder,
  keyFor,
  ask,
  create,
  createReady,
  actionsOf,
  size,
} = await openExportEdge();

describe('GET /exports/{id}/download', () => {
  it('a download gives the pack, named, with its digest, and it verifies [operations.export]', async () => {
    const id = await createReady();
    const { sha256, size_bytes, file_name } = (await ask('GET', `/exports/${id}`)).json<{
      sha256: string;
      size_bytes: number;
      file_name: string;
    }>();
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
    expect(await verifyPack(file, { didJson, now: Date.now() })).toMatchObject({
      verdict: 'good',
    });
    expect(await actionsOf(id)).toEqual(['export.requested', 'export.ready', 'export.downloaded']);
  });

  it('parts of a pack that a caller fetches are one entry in the audit log, whichever comes first [operations.export]', async () => {
    const id = await createReady();
    const fetch = (range: string, token?: string) =>
      ask('GET', `/exports/${id}/download`, {
        headers: { range },
        ...(token === undefined ? {} : { token }),
      });
    const entries = async () =>
      (await actionsOf(id)).filter((action) => action === 'export.downloaded').length;
    await Promise.all(Array.from({ length: 20 }, () => fetch('bytes=9-9')));
    for (const range of ['bytes=0-0', 'bytes=0-0', 'bytes=-1']) await fetch(range);
    expect(await entries()).toBe(1);
    const other = keyFor(ORG, ['service:export'], 'key_other');
    for (const range of ['bytes=0-0', 'bytes=5-']) await fetch(range, other);
    expect(await entries()).toBe(2);
  });

  it('a download from another address is an entry of its own in the audit log [operations.export]', async () => {
    const id = await createReady();
    for (const address of ['192.0.2.1', '198.51.100.7', '198.51.100.7', '192.0.2.1'])
      await ask('GET', `/exports/${id}/download`, { address });
    const { rows } = await database.pool.query<{ address: string }>(
      `select address from audit_log where subject = $1 and action = 'export.downloaded' order by sequence`,
      [id],
    );
    expect(rows.map(({ address }) => address)).toEqual(['192.0.2.1', '198.51.100.7']);
  });

  it('a download whose entry is there waits for no other writer of the audit log', async () => {
    const id = await createReady();
    await ask('GET', `/exports/${id}/download`);
    const writer = await database.pool.connect();
    onTestFinished(() => writer.release(true));
    await writer.query('begin');
    await writer.query('select from audit_head for update');
    expect((await ask('GET', `/exports/${id}/download`)).statusCode).toBe(200);
  });

  it('a download in parts gives the whole', async () => {
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

  it('a range is 416 beyond the end; several ranges, or another file, give the whole [codes.exports]', async () => {
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

  it('a HEAD tells how large the pack is', async () => {
    const id = await createReady();
    const answer = await ask('HEAD', `/exports/${id}/download`, {
      headers: { range: 'bytes=0-9' },
    });
    expect([answer.statusCode, answer.rawPayload.length]).toEqual([200, 0]);
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(10_000);
    expect(await actionsOf(id)).not.toContain('export.downloaded');
  });

  it('a download is 409 before the pack is ready, 409 when it failed, 410 when it expired [codes.exports]', async () => {
    const id = await create();
    const waiting = await ask('GET', `/exports/${id}/download`);
    expect([waiting.statusCode, codeOf(waiting)]).toEqual([409, 'export_not_ready']);
    expect(waiting.headers).not.toHaveProperty('retry-after');
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
  it('DELETE removes a finished pack from the store', async () => {
    const id = await createReady();
    expect(await store.size(id)).toBeGreaterThan(0);
    expect((await ask('DELETE', `/exports/${id}`)).statusCode).toBe(204);
    expect(await store.size(id)).toBeNull();
    expect((await ask('GET', `/exports/${id}`)).statusCode).toBe(404);
    expect((await ask('DELETE', `/exports/${id}`)).statusCode).toBe(404);
    expect(await actionsOf(id)).toEqual(['export.requested', 'export.ready', 'export.deleted']);
  });

  it('DELETE cancels an export that waits, and it is never built', async () => {
    const id = await create();
    expect((await ask('DELETE', `/exports/${id}`)).statusCode).toBe(204);
    await builder.run(id);
    expect(await store.size(id)).toBeNull();
    expect(await actionsOf(id)).toEqual(['export.requested', 'export.cancelled']);
  });
});

describe('a repeated export', () => {
  it('a repeated export of the same range at the same checkpoint has the same bytes', async () => {
    const body = { first_index: 3, last_index: 60, checkpoint_size: size };
    const digest = async (id: string) =>
      (await ask('GET', `/exports/${id}`)).json<{ sha256: string }>().sha256;
    const one = await createReady(body);
    const expected = await digest(one);
    await ask('DELETE', `/exports/${one}`);
    await lab.issue(10);
    await lab.integrate();
    const two = await createReady(body);
    expect(two).not.toBe(one);
    expect(await digest(two)).toBe(expected);
  });

  it('an export of a range and checkpoint that was finished within the hour is given again, and an older one built anew', async () => {
    const body = { first_index: 4, last_index: 60, checkpoint_size: size };
    const again = () => ask('POST', '/exports', { body });
    const answers = [await again()];
    const id = answers[0]!.json<{ id: string }>().id;
    await builder.run(id);
    answers.push(await again(), await again());
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([202, 202, 202]);
    expect(new Set(answers.map((answer) => answer.json<{ id: string }>().id))).toEqual(
      new Set([id]),
    );
    expect(await actionsOf(id)).toEqual(['export.requested', 'export.ready']);
    const age = (minutes: number) =>
      database.pool.query(
        `update export set finished_at = now() - make_interval(mins => $2) where id = $1`,
        [id, minutes],
      );
    await age(55);
    expect((await again()).json()).toMatchObject({ id, status: 'ready' });
    await age(61);
    const anew = (await again()).json<{ id: string; status: string }>();
    expect([anew.id === id, anew.status]).toEqual([false, 'queued']);
  });
});
