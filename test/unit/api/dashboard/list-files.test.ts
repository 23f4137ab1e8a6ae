import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { csvOf, jsonOf } from '#api/dashboard/audit/files.ts';
import { ListFiles } from '#api/dashboard/parts/list-files.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import type { AuditPageRequest } from '#shared/accounts/postgres/audit.ts';

const entryOf = (sequence: number): AuditEntry => ({
  id: `aud_${sequence}`,
  orgId: 'org_1',
  sequence,
  at: 0,
  action: 'key.revoked',
  actorKind: 'user',
  actorId: 'usr_1',
  address: null,
  subject: null,
  reason: null,
  details: '{}',
  previousHash: '0',
  hash: '1',
});

/** A log of so many entries, and the questions that it was asked. */
function logOf(count: number) {
  const asked: AuditPageRequest[] = [];
  const list = async (request: AuditPageRequest) => {
    asked.push(request);
    const from = request.after === undefined ? 0 : Number(request.after.slice(4)) + 1;
    const to = Math.min(count, from + request.limit);
    const items = Array.from({ length: to - from }, (_, i) => entryOf(from + i));
    return { items, hasMore: to < count };
  };
  return { list, asked };
}

const responseOf = () =>
  Object.assign(new EventEmitter(), { destroyed: false }) as unknown as ServerResponse;
const WHOLE = { rowsMax: 100_000, asked: { orgId: 'org_1', order: 'asc' } } as const;

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

it('a file of an audit log is made as its client reads it: what is held of it is a page, however long the log is [limits.pages]', async () => {
  const log = logOf(1_100);
  const pieces = (await new ListFiles(log.list).text(responseOf(), WHOLE, jsonOf)).iterator();
  expect(log.asked).toHaveLength(1);
  await pieces.next();
  await pieces.next();
  // The stream reads one page ahead.
  expect(log.asked.length).toBeLessThanOrEqual(3);
  const text = await textOf(await new ListFiles(log.list).text(responseOf(), WHOLE, jsonOf));
  const list = JSON.parse(text) as { data: { sequence: number }[] };
  expect(list.data.map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: 1_100 }, (_, i) => i),
  );
  expect(list).toMatchObject({ object: 'list', first_id: 'aud_0', last_id: 'aud_1099' });
  const lines = csvOf(
    async () => new Map([['usr_1', 'Ada']]),
    async () => {},
  );
  const csv = await textOf(await new ListFiles(log.list).text(responseOf(), WHOLE, lines));
  expect(csv.match(/^at,/gm)).toHaveLength(1);
  expect(csv.trim().split('\r\n')).toHaveLength(1 + 1_100);
});

it('a file of an empty log is an empty list', async () => {
  const text = await textOf(await new ListFiles(logOf(0).list).text(responseOf(), WHOLE, jsonOf));
  expect(JSON.parse(text)).toMatchObject({ object: 'list', data: [], has_more: false });
});

it('of files that are fetched at once an organisation has some, which are free again when their clients have them or leave [limits.pages]', async () => {
  const files = new ListFiles(logOf(1).list);
  const open = async (orgId: string): Promise<ServerResponse | string> => {
    const response = responseOf();
    return files.text(response, { ...WHOLE, asked: { ...WHOLE.asked, orgId } }, jsonOf).then(
      () => response,
      (error: unknown) => (error as { code: string }).code,
    );
  };
  const opened = await Promise.all(Array.from({ length: 14 }, () => open('org_1')));
  expect(opened.filter((one) => one === 'requests_per_second_exceeded')).toHaveLength(1);
  expect(await open('org_2')).not.toBe('requests_per_second_exceeded');
  for (const one of opened) if (typeof one !== 'string') one.emit('close');
  expect(await open('org_1')).not.toBe('requests_per_second_exceeded');
});
