import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { openExportStore } from '#shared/packs/files/open-store.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { Scope } from '#shared/keys/credential.ts';
import { buildTestApp } from './app.ts';
import { TestCredentials } from './credentials.ts';
import { createTestDatabase } from './database.ts';
import { createBuilder } from './export-runs.ts';
import { ORG, PackLab } from './packs.ts';

export const STRANGER = 'org_01JD0A8N5K3M7Q2T9VXB4C6DEZ';

interface Asking {
  token?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
  address?: string;
}

export const codeOf = (answer: { body: string }): string =>
  (JSON.parse(answer.body) as { error: { code: string } }).error.code;

/** The routes of exports over a ledger of 77 receipts, two of them a stranger's, with a store of packs in a directory. */
export async function openExportEdge() {
  const database = await createTestDatabase();
  const directory = mkdtempSync(join(tmpdir(), 'docket-exports-'));
  const lab = new PackLab(database.pool, directory);
  const store = openExportStore({
    exportStore: join(directory, 'packs'),
    awsRegion: 'eu-west-1',
    s3Endpoint: undefined,
    s3KmsKeyId: undefined,
    secrets: {
      awsAccessKeyId: undefined,
      awsSecretAccessKey: undefined,
      awsSessionToken: undefined,
    },
  });
  const api = database.poolAs('docket_api');
  const audit = createAuditLog(api, systemSurroundings);
  const builder = createBuilder(lab, database.poolAs('docket_exports'), store);

  const credentials = new TestCredentials();
  const keyFor = (
    orgId: string,
    scopes: readonly Scope[] = ['service:export'],
    keyId = 'key_test',
  ): string => credentials.issue(orgId, scopes, { keyId });
  const key = keyFor(ORG);
  const stranger = keyFor(STRANGER);

  /** How often builders were told that an export waits. */
  const told = vi.fn<() => void>();
  const app = await buildTestApp(api, {
    authenticate: { credentials, keyUse: { used() {} } },
    exports: {
      exports: createExportRegistry(api, systemSurroundings),
      store,
      start: told,
      keptDays: 7,
      onStoreError() {},
    },
  });

  const ask = (method: 'GET' | 'POST' | 'DELETE' | 'HEAD', path: string, asking: Asking = {}) => {
    const { token = key, body, headers = {}, address = '192.0.2.1' } = asking;
    return app.inject({
      method,
      url: `/v1${path}`,
      remoteAddress: address,
      headers: { ...headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      ...(body === undefined ? {} : { payload: body as object }),
    });
  };
  let created = 0;
  /** Everything, under a period that no other has: each is an export of its own. */
  const everything = () => ({
    from: new Date(Date.UTC(2020, 0, 1) + (created += 1)).toISOString(),
  });
  const create = async (body: object = everything(), token = key): Promise<string> => {
    const answer = await ask('POST', '/exports', { body, token });
    expect(answer.statusCode).toBe(202);
    return answer.json<{ id: string }>().id;
  };
  const createReady = async (body?: object): Promise<string> => {
    const id = await create(body);
    await builder.run(id);
    return id;
  };
  const actionsOf = async (id: string): Promise<string[]> => {
    const { items } = await audit.list({ orgId: ORG, limit: 100, order: 'asc' });
    return items.filter(({ subject }) => subject === id).map(({ action }) => action);
  };

  await lab.issue(40);
  await lab.integrate();
  // Times of integration are told apart by the millisecond.
  const { rows } = await database.pool.query<{ at: Date }>(
    'select max(integrated_at) as at from ledger_entry',
  );
  const middle = rows[0]!.at.getTime() + 1;
  await database.pool.query('select pg_sleep(0.005)');
  await lab.issue(35);
  await lab.issue(2, 'measured', STRANGER);
  const size = await lab.integrate();

  return {
    database,
    directory,
    lab,
    store,
    builder,
    keyFor,
    stranger,
    told,
    ask,
    create,
    createReady,
    actionsOf,
    /** Between the first 40 receipts and the others, in epoch milliseconds. */
    middle,
    /** Of the organisation's log. */
    size,
  };
}
