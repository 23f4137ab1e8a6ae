import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { type Environment, readEnvironment } from '#shared/config/config.ts';
import { JOB_PREFIX } from '#shared/jobs/redis/job-queues.ts';
import type { JobName } from '#shared/jobs/table.ts';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { Instance } from '#lab/storms/instance.ts';
import { REGION } from './minio.ts';
import { ARCHIVE, PACKS, type StoreGround } from './store-checks.ts';

/** Long enough ago for the whole of its month to be older than the shortest time that bodies stay. */
const AGO_DAYS = 75;
const ONLINE_DAYS = 30;
const RECEIPTS = 80;
const CLOCK_LIBRARY = 'faketime/libfaketimeMT.so.1';
/** A job that failed is tried again after some ten seconds, and after twenty. */
const MOVED_MS = 240_000;
const LOOK_MS = 500;
/** A block that does not come is given up after ten seconds. */
const AWAY_MS_MAX = 20_000;

/** The library by which processes are set back; undefined where faketime is not installed. */
export function findClockLibrary(): string | undefined {
  const folders = existsSync('/usr/lib') ? readdirSync('/usr/lib') : [];
  return folders
    .map((folder) => join('/usr/lib', folder, CLOCK_LIBRARY))
    .find((path) => existsSync(path));
}

/** The job that archives, among others. */
const ARCHIVING = 'retention' satisfies JobName;

type Say = (name: string, words: string) => void;

/**
 * The whole product with packs and older receipts in the bucket: receipts are made by processes whose clock is set back, and
 * archived after a restart with the right one.
 * @throws Error with what does not hold; what follows builds on it
 */
export async function checkProduct(
  ground: StoreGround,
  clockLibrary: string,
  say: Say,
): Promise<void> {
  const env: Record<string, string | undefined> = {
    REPLICAS: 'api=1,inference=1,receipts=1,ledger=1',
    LD_PRELOAD: clockLibrary,
    FAKETIME: `-${AGO_DAYS}d`,
    DONT_FAKE_MONOTONIC: '1',
  };
  const instance = await Instance.start({ env });
  try {
    await new Product(instance, ground, env).run(say);
  } finally {
    await instance.remove();
  }
}

class Product {
  readonly #instance: Instance;
  readonly #ground: StoreGround;
  readonly #env: Record<string, string | undefined>;

  constructor(instance: Instance, ground: StoreGround, env: Record<string, string | undefined>) {
    this.#instance = instance;
    this.#ground = ground;
    this.#env = env;
  }

  async run(say: Say): Promise<void> {
    const { minio } = this.#ground;
    await this.#makePartition();
    const ids = await this.#issue();
    const before = await Promise.all(ids.map((id) => this.#bytes(id)));
    say('receipts of another month', `${ids.length}, of ${AGO_DAYS} days ago`);

    const { root } = minio;
    for (const name of ['LD_PRELOAD', 'FAKETIME', 'DONT_FAKE_MONOTONIC']) delete this.#env[name];
    const archive = {
      RECEIPT_ARCHIVE: `s3://${ARCHIVE}`,
      RECEIPT_BODIES_ONLINE: `${ONLINE_DAYS}d`,
      S3_ENDPOINT: minio.endpoint,
      S3_KMS_KEY_ID: minio.kmsKey,
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: root.accessKeyId,
      AWS_SECRET_ACCESS_KEY: root.secretAccessKey,
    };
    Object.assign(this.#env, archive);
    await this.#beginRoundsAnew();
    await this.#instance.killEverything();
    await minio.kill();
    await this.#instance.launch();
    await this.#until('archiving fails', async () =>
      /event=job_failed[^\n]*retention/.test(this.#instance.output),
    );
    demand((await this.#online()) === ids.length, 'bodies are gone before there is an archive');
    await minio.again();
    await this.#until('bodies have moved', async () => (await this.#online()) === 0);
    say(
      'archiving',
      'fails while the server is gone, with every body kept; moves them when it is back',
    );

    // No process that makes packs is ready while their store is away, so this comes with the server.
    const objects = { ...archive, EXPORT_STORE: `s3://${PACKS}/packs` };
    Object.assign(this.#env, objects);
    await this.#instance.killEverything();
    await this.#instance.launch();
    const after = await Promise.all(ids.map((id) => this.#bytes(id)));
    demand(
      after.every((text, i) => text === before[i]),
      'a receipt is not as it was',
    );
    say('GET /v1/receipts/{id}', 'the same bytes from the bucket');

    minio.pause();
    const began = performance.now();
    const away = await this.#ask(`/receipts/${ids[0]}`);
    const seconds = (performance.now() - began) / 1_000;
    demand(
      away.status === 503 && (await away.text()).includes('store_unavailable'),
      `a receipt behind a stopped server is ${away.status}`,
    );
    demand(seconds * 1_000 < AWAY_MS_MAX, `it took ${seconds} s`);
    minio.goOn();
    demand((await this.#bytes(ids[0]!)) === before[0], 'it is not there when the server goes on');
    say(
      'a server that is stopped',
      `503 store_unavailable after ${seconds.toFixed(1)} s; then as before`,
    );

    const sound = await this.#docket(objects, 'ledger', 'fsck');
    demand(sound.code === 0, `fsck: ${sound.text}`);
    await minio.kill();
    const blind = await this.#docket(objects, 'ledger', 'fsck');
    demand(blind.code === 1, `fsck without the archive ends with ${blind.code}: ${blind.text}`);
    const ill = await this.#docket(objects, 'doctor');
    const places = ['export store', 'receipt archive'];
    const verdicts = ill.text
      .split('\n')
      .filter((line) => places.some((one) => line.includes(one)));
    demand(verdicts.length === 2 && /ECONNREFUSED/.test(verdicts.join()), `doctor: ${ill.text}`);
    await minio.again();
    const well = await this.#docket(objects, 'doctor');
    const good = well.text.split('\n').filter((line) => /answers, and takes objects/.test(line));
    demand(good.length === 2, `doctor: ${well.text}`);
    say(
      'fsck and doctor',
      `sound with the bucket; without it: ${blind.text.trim().split('\n').at(-1)}\n${verdicts.join('\n')}`,
    );

    // Asked for while the server is gone, and finished when it is back.
    await minio.kill();
    const asked = await this.#ask('/exports', { format: 'evidence-pack' });
    demand(asked.status === 202, `a pack is refused with ${asked.status}`);
    const { id } = (await asked.json()) as { id: string };
    await delay(10_000);
    await minio.again();
    let status = '';
    await this.#until(`the pack is ready, which is ${status}`, async () => {
      ({ status } = (await (await this.#ask(`/exports/${id}`)).json()) as { status: string });
      if (status === 'failed') throw new Error('the pack has failed');
      return status === 'ready';
    });
    const file = join(this.#ground.directory, 'pack.zip');
    const key = join(this.#ground.directory, 'key');
    await writeFile(key, this.#instance.info.api_key, { mode: 0o600 });
    const reach = ['--url', this.#instance.info.base_url, '--key-file', key];
    const fetched = await this.#docket(objects, 'exports', 'download', id, ...reach, '-o', file);
    demand(fetched.code === 0, `download: ${fetched.text}`);
    const verdict = await this.#docket(objects, 'verify', file);
    demand(/GOOD|INTACT/.test(verdict.text) && verdict.code !== 1, `verify: ${verdict.text}`);
    say(
      'a pack',
      `made of archived bodies after the server came back, fetched from the bucket: ${verdict.text.trim().split('\n')[0]}`,
    );
  }

  /** The turn of this job is kept for ten minutes, over restarts. */
  async #beginRoundsAnew(): Promise<void> {
    const redis = new Redis(this.#instance.info.redis_url);
    await redis.del(`${JOB_PREFIX}:turn:${ARCHIVING}`);
    redis.disconnect();
  }

  /** Of the month in which the processes are: housekeeping makes those of months to come. */
  #makePartition(): Promise<void> {
    const then = new Date(Date.now() - AGO_DAYS * DAY_MS);
    const [year, month] = [then.getUTCFullYear(), then.getUTCMonth()];
    const [from, to] = [Date.UTC(year, month), Date.UTC(year, month + 1)].map(firstReceiptIdAt);
    const name = `ledger_body_${then.toISOString().slice(0, 7).replace('-', '_')}`;
    return this.#query(
      `create table ${name} (like ledger_body including all);
       alter table ledger_body attach partition ${name} for values from ('${from}') to ('${to}')`,
    ).then(() => undefined);
  }

  async #issue(): Promise<string[]> {
    const ids: string[] = [];
    for (let i = 0; i < RECEIPTS; i += 1) {
      const answer = await this.#ask('/chat/completions', {
        model: 'llama-3.1-8b',
        messages: [{ role: 'user', content: `Tell me about lighthouse ${i}.` }],
      });
      if (answer.status !== 200) throw new Error(`a request answered ${await answer.text()}`);
      await answer.text();
      ids.push(answer.headers.get('x-receipt-id')!);
    }
    await this.#until('all are in the ledger', async () => {
      const { rows } = await this.#query('select count(*)::int as n from ledger_entry');
      return (rows[0] as { n: number }).n >= RECEIPTS;
    });
    return ids;
  }

  async #bytes(id: string): Promise<string> {
    const answer = await this.#ask(`/receipts/${id}`);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${id}: ${answer.status} ${text}`);
    return text;
  }

  /** How many receipts of that month have their bodies in PostgreSQL. */
  async #online(): Promise<number> {
    const until = firstReceiptIdAt(Date.now() - ONLINE_DAYS * DAY_MS);
    const sql = 'select count(body)::int as n from ledger_body where entry_id < $1';
    return ((await this.#query(sql, [until])).rows[0] as { n: number }).n;
  }

  #ask(path: string, body?: object): Promise<Response> {
    const { base_url: base, api_key: key } = this.#instance.info;
    return fetch(`${base}${path}`, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
  }

  async #query(sql: string, values?: unknown[]) {
    const client = new Client({ connectionString: this.#instance.info.database_url });
    await client.connect();
    try {
      return await client.query(sql, values);
    } finally {
      await client.end();
    }
  }

  #docket(env: Environment, ...args: string[]): Promise<{ code: number; text: string }> {
    const docket = join(import.meta.dirname, '../../cli/docket.ts');
    const { database_url: DATABASE_URL, redis_url: REDIS_URL } = this.#instance.info;
    const DOCKET_DATA_DIR = this.#instance.dataDir;
    const PATH = readEnvironment()['PATH'];
    const options = { env: { PATH, DATABASE_URL, REDIS_URL, DOCKET_DATA_DIR, ...env } };
    return new Promise((resolve) => {
      execFile(process.execPath, [docket, ...args], options, (error, out, problems) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ code, text: out + problems });
      });
    });
  }

  async #until(what: string, look: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + MOVED_MS;
    while (!(await look())) {
      if (Date.now() > end)
        throw new Error(`waited in vain until ${what}:\n${this.#instance.output.slice(-1_500)}`);
      await delay(LOOK_MS);
    }
  }
}

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}
