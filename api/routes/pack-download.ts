import { finished, Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { ExportRecord } from '#shared/packs/export-record.ts';
import { packName } from '#shared/packs/layout.ts';
import type { ByteRange, ObjectStore } from '#shared/kernel/object-store.ts';
import { isHeld } from './entity-tags.ts';

export interface PackAccess {
  store: Pick<ObjectStore, 'read'>;
  /** Told before the pack is opened for a caller. */
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
  if (isHeld(known, etag)) return reply.code(304).send();
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
  await onDownload();
  // Nothing is awaited between opening and handing over: a file that is left open ends the process when it is collected.
  const stream = await store.read(record.id, bytes);
  if (stream === null) throw new Error(`the pack of ${record.id} is not in the store`);
  finished(reply.raw, () => stream.destroy());
  return reply.send(stream);
}

function notReady({ status, error }: ExportRecord): Fault {
  if (status === 'failed') return new Fault('export_failed', { message: error?.message });
  return new Fault(status === 'expired' ? 'export_expired' : 'export_not_ready');
}

/** The part that a Range header asks for: everything, one range, or nothing that is there. */
export type RangeAnswer = 'whole' | 'unsatisfiable' | ByteRange;

/** More digits than any size has: what is larger is no range of ours. */
const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Reads a Range header (RFC 9110, 14) for a file of `size` bytes. One range is answered; several, other units and what
 * cannot be read are ignored, as a server may: then the whole file is sent. Clients that resume ask for one.
 * @param ifRange the If-Range header: the range counts only for the file that the client has the beginning of
 */
export function byteRange(
  header: string | undefined,
  size: number,
  { ifRange, etag }: { ifRange: string | undefined; etag: string },
): RangeAnswer {
  if (header === undefined) return 'whole';
  if (ifRange !== undefined && ifRange.trim() !== etag) return 'whole';
  const match = RANGE.exec(header.trim().toLowerCase().replaceAll(/\s+/g, ''));
  if (match === null) return 'whole';
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return 'whole';
  // bytes=-500: the last 500.
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  // The end before the beginning is no range at all, and is ignored like one that cannot be read.
  if (last !== '' && Number(last) < start) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end };
}
