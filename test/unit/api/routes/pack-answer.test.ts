import { Readable } from 'node:stream';
import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { sendPack } from '#api/routes/pack-download.ts';
import { operatorExports } from '#cli/exports/access.ts';
import { describeExport, type ExportRecord } from '#shared/packs/export-record.ts';
import type { ExportRegistry } from '#shared/packs/postgres/exports.ts';

const RECORD: ExportRecord = {
  id: 'exp_1',
  orgId: 'org_1',
  status: 'ready',
  firstIndex: 0,
  lastIndex: 0,
  checkpointSize: 1,
  done: 1,
  total: 1,
  sizeBytes: 3,
  sha256: '00'.repeat(32),
  error: null,
  waitsBecause: null,
  createdAt: 0,
  startedAt: 0,
  finishedAt: 0,
  expiresAt: 0,
};

/** A store that keeps what it has opened. */
function countingStore() {
  const opened: Readable[] = [];
  const read = async (): Promise<Readable> => {
    const stream = new Readable({ read: () => {} });
    opened.push(stream);
    return stream;
  };
  return { opened, read };
}

const failing = async (): Promise<never> => {
  throw new Error('the pool is exhausted');
};

describe('a pack that is opened is sent or destroyed', () => {
  it('nothing is open when the audit entry of an answer cannot be written', async () => {
    const store = countingStore();
    const app = fastify();
    app.get('/', (request, reply) =>
      sendPack(request, reply, RECORD, { store, onDownload: failing }),
    );
    expect((await app.inject('/')).statusCode).toBe(500);
    expect(store.opened.filter(({ destroyed }) => !destroyed)).toEqual([]);
    await app.close();
  });

  it('nothing is open when a hook refuses the answer after the pack was opened', async () => {
    const store = countingStore();
    const app = fastify();
    app.addHook('onSend', async (_request, reply) => {
      if (reply.statusCode === 200) throw new Error('the hook fails');
    });
    app.get('/', (request, reply) =>
      sendPack(request, reply, RECORD, { store, onDownload: async () => {} }),
    );
    expect((await app.inject('/')).statusCode).toBe(500);
    expect(store.opened.map(({ destroyed }) => destroyed)).toEqual([true]);
    await app.close();
  });

  it('nothing is open when the audit entry of an operator cannot be written', async () => {
    const store = countingStore();
    const exports = { get: async () => RECORD, downloaded: failing } as unknown as ExportRegistry;
    const actor = { kind: 'operator', id: 'os:a@b' } as const;
    const access = operatorExports({ exports, store, orgId: 'org_1', actor });
    await expect(access.open(describeExport(RECORD), 0)).rejects.toThrow('exhausted');
    expect(store.opened.filter(({ destroyed }) => !destroyed)).toEqual([]);
  });
});
