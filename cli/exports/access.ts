import { type ApiAccess, askApi } from '#cli/ask-api.ts';
import { describeExport, type ExportDescription } from '#shared/packs/export-record.ts';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import type { ExportRegistry, ExportRequest } from '#shared/packs/postgres/exports.ts';

/** A page of the API: packs are kept for days, so an organisation with more has them by its dashboard. */
const LISTED_MAX = 100;

/** Where exports are asked for: the API, as a caller with a key, or the database, as an operator. */
export interface ExportAccess {
  create(request: ExportRequest): Promise<ExportDescription>;
  get(id: string): Promise<ExportDescription>;
  /** The newest ones, newest first. Deleted ones are left out. */
  list(): Promise<readonly ExportDescription[]>;
  /** The pack from byte `start` on. */
  open(wanted: ExportDescription, start: number): Promise<AsyncIterable<Uint8Array>>;
}

export interface OperatorExportsOptions {
  exports: ExportRegistry;
  store: Pick<ObjectStore, 'read'>;
  orgId: string;
  actor: Actor;
}

/** An operator's way: the rows, which the exports process finds by itself, and the store. */
export function operatorExports(options: OperatorExportsOptions): ExportAccess {
  const { exports, store, orgId, actor } = options;
  const find = async (id: string) => {
    const record = await exports.get(orgId, id);
    if (record === null) throw new Fault('export_not_found');
    return record;
  };
  return {
    create: async (request) => describeExport(await exports.create(orgId, request, actor)),
    get: async (id) => describeExport(await find(id)),
    async list() {
      const { items } = await exports.list({ orgId, limit: LISTED_MAX, order: 'desc' });
      return items.map(describeExport);
    },
    async open({ id, size_bytes: size }, start) {
      const record = await find(id);
      // Written down before the pack is opened: a stream that is not handed over would stay open.
      await exports.downloaded(record, actor);
      const stream = await store.read(id, { start, end: (size ?? 1) - 1 });
      if (stream === null) throw new Fault('export_not_found');
      return stream;
    },
  };
}

/** A caller's way. */
export function apiExports(access: ApiAccess): ExportAccess {
  const ask = (
    method: string,
    path: string,
    more: Parameters<typeof askApi>[3] = {},
  ): Promise<Response> => askApi(access, method, `/exports${path}`, more);
  const read = async (answer: Promise<Response>): Promise<ExportDescription> =>
    (await (await answer).json()) as ExportDescription;
  return {
    create: (request) => read(ask('POST', '', { body: bodyOf(request) })),
    get: (id) => read(ask('GET', `/${encodeURIComponent(id)}`)),
    async list() {
      const answer = await ask('GET', `?limit=${LISTED_MAX}&order=desc`);
      return ((await answer.json()) as { data: ExportDescription[] }).data;
    },
    async open({ id, sha256 }, start) {
      const path = `/${encodeURIComponent(id)}/download`;
      const rest = { range: `bytes=${start}-`, 'if-range': `"${sha256}"` };
      const answer = await ask('GET', path, start === 0 ? {} : { headers: rest });
      if (start > 0 && answer.status !== 206) {
        await answer.body?.cancel();
        throw new Error('the service does not resume downloads');
      }
      return answer.body as unknown as AsyncIterable<Uint8Array>;
    },
  };
}

function bodyOf(request: ExportRequest): object {
  const { from, to, firstIndex, lastIndex, checkpointSize } = request;
  return {
    format: 'evidence-pack',
    ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
    ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
    ...(firstIndex === undefined ? {} : { first_index: firstIndex }),
    ...(lastIndex === undefined ? {} : { last_index: lastIndex }),
    ...(checkpointSize === undefined ? {} : { checkpoint_size: checkpointSize }),
  };
}
