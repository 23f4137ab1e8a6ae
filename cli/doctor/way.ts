import { Client } from 'pg';
import { PATIENCE } from '#patience';
import { queryRow, statement } from '#shared/kernel/postgres/statement.ts';

/** What lies between a client and PostgreSQL. */
export type Way = 'direct' | 'pooled by session' | 'pooled by transaction';

const ANSWER_MAX_MS = 5_000 * PATIENCE;
/** Other clients of the pooler take and give back connections meanwhile: one look could find the same one by chance. */
const LOOKS = 8;

/**
 * Looks whether a pooler is in between, and which. A server tells each connection the process that serves it, and a pooler a
 * number of its own; one that pools by transaction serves a second client by the process that has served the first, or the
 * first by another once that is taken.
 */
export async function wayTo(url: string): Promise<Way> {
  const [one, other] = [open(url), open(url)];
  try {
    await one.connect();
    const served = await processOf(one);
    if (served === Reflect.get(one, 'processID')) return 'direct';
    await other.connect();
    for (let look = 0; look < LOOKS; look += 1) {
      if (await isShared(one, other, served)) return 'pooled by transaction';
    }
    return 'pooled by session';
  } finally {
    await Promise.allSettled([one.end(), other.end()]);
  }
}

async function isShared(one: Client, other: Client, served: number): Promise<boolean> {
  await other.query('begin');
  try {
    return (await processOf(other)) === served || (await processOf(one)) !== served;
  } finally {
    await other.query('rollback');
  }
}

function open(url: string): Client {
  const client = new Client({
    connectionString: url,
    application_name: 'docket doctor',
    connectionTimeoutMillis: ANSWER_MAX_MS,
    query_timeout: ANSWER_MAX_MS,
  });
  // A connection that breaks rejects its query; without a listener it would also end the command.
  client.on('error', () => {});
  return client;
}

const PROCESS = statement({ pid: 'int4' }, 'select pg_backend_pid() as pid');

async function processOf(client: Client): Promise<number> {
  return (await queryRow(client, PROCESS))!.pid;
}
