import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { ExportRecord } from '#shared/packs/export-record.ts';
import { packName } from '#shared/packs/layout.ts';
import type { ExportStore } from '#shared/packs/export-store.ts';
import { byteRange } from './byte-range.ts';

export interface PackAccess {
  store: Pick<ExportStore, 'read'>;
  /** Told when somebody begins to fetch the pack. */
  onDownload: () => Promise<void>;
}

/** Answers with the pack, or with the part of it that was asked for. @throws Fault when there is none yet, or any more */
export async function sendPack(
  request: FastifyRequest,
  reply: FastifyReply,
  record: ExportRecord,
  { store, onDownload }: PackAccess,
): Promise<FastifyReply> {
  const { sizeBytes, sha256 } = record;
  if (record.status !== 'ready' || sizeBytes === null || sha256 === null) throw notReady(record);
  const etag = `"${sha256}"`;
  const { range: header, 'if-range': ifRange, 'if-none-match': known } = request.headers;
  void reply.headers({
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    etag,
    'content-disposition': `attachment; filename="${packName(record.orgId, record)}.zip"`,
    'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
  });
  if (known !== undefined && known.split(',').some((each) => each.trim() === etag)) {
    return reply.code(304).send();
  }
  // A HEAD request has no ranges (RFC 9110, 14.2): it tells how large the whole is.
  const isHead = request.method === 'HEAD';
  const range = byteRange(isHead ? undefined : header, sizeBytes, {
    ifRange: typeof ifRange === 'string' ? ifRange : undefined,
    etag,
  });
  if (range === 'unsatisfiable') {
    const headers = { 'content-range': `bytes */${sizeBytes}` };
    throw new Fault('range_not_satisfiable', {
      values: { bytes: sizeBytes },
      headers,
    });
  }
  const bytes = range === 'whole' ? { start: 0, end: sizeBytes - 1 } : range;
  void reply
    .code(range === 'whole' ? 200 : 206)
    .type('application/zip')
    .header('content-length', String(bytes.end - bytes.start + 1));
  if (range !== 'whole') {
    void reply.header('content-range', `bytes ${bytes.start}-${bytes.end}/${sizeBytes}`);
  }
  // A stream without bytes: the framework would set the length of no body to 0.
  if (isHead) return reply.send(Readable.from([]));
  const stream = await store.read(record.id, bytes);
  if (stream === null) throw new Error(`the pack of ${record.id} is not in the store`);
  // Whoever resumes has been written down when they began.
  if (bytes.start === 0) await onDownload();
  return reply.send(stream);
}

function notReady({ status, error }: ExportRecord): Fault {
  if (status === 'failed') return new Fault('export_failed', { message: error?.message });
  return new Fault(status === 'expired' ? 'export_expired' : 'export_not_ready');
}
