import { beforeAll, describe, expect, it } from 'vitest';
import { startTestRedis } from '#test/support/redis.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import { HERE, runDocket } from '#test/support/docket-cli.ts';

let env: Record<string, string>;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  env = { REDIS_URL: (await startTestRedis()).url, DATABASE_URL: database.url };
});

const statusOf = async (code: string): Promise<unknown> => {
  const { stdout } = await runDocket(['regions', 'list', '--json'], env);
  return (JSON.parse(stdout) as { region: string; status: string }[]).find(
    (row) => row.region === code,
  )?.status;
};

describe('docket regions', () => {
  it('lists the catalogue’s regions with their status', async () => {
    const { code, stdout } = await runDocket(['regions', 'list'], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^region +name +zone +capacity +catalogue +status +note\neu-west .* normal +normal +-\n/,
    );
  });

  it('sets a status that holds until it is set again, and writes who did it and why', async () => {
    const set = ['regions', 'set', 'eu-west', 'degraded', '--reason', 'cooling'];
    expect(await runDocket(set, env)).toMatchObject({ code: 0, stderr: '' });
    expect(await statusOf('eu-west')).toBe('degraded');
    await runDocket(['regions', 'set', 'eu-west', 'normal'], env);
    expect(await statusOf('eu-west')).toBe('normal');
    const { rows } = await database.pool.query<Record<string, unknown>>(
      `select action, actor_id, subject, reason from audit_log where action = 'region.set' order by sequence limit 1`,
    );
    expect(rows).toEqual([
      { action: 'region.set', actor_id: HERE, subject: 'eu-west', reason: 'cooling' },
    ]);
  });

  it('says why to the public until told otherwise, and goes back to what the catalogue says [dashboard.regions]', async () => {
    const rowOf = async (...args: string[]): Promise<unknown> => {
      const { stdout } = await runDocket(['regions', 'set', 'eu-north', ...args, '--json'], env);
      return (JSON.parse(stdout) as unknown[])[0];
    };
    const note = 'A power cut; back at 15:00 UTC.';
    expect(await rowOf('degraded', '--note', note)).toMatchObject({ status: 'degraded', note });
    // It goes with what it tells of, and stays while that lasts.
    expect(await rowOf('degraded')).toMatchObject({ note });
    expect(await rowOf('degraded', '--no-note')).toMatchObject({ note: null });
    await rowOf('degraded', '--note', note);
    expect(await rowOf('normal')).toMatchObject({ status: 'normal', note: null });
    await rowOf('degraded', '--note', note);
    expect(await rowOf('catalogue')).toMatchObject({ status: 'normal', note: null });
    expect(await rowOf('catalogue', '--note', note)).toMatchObject({ status: 'normal', note });
    const long = await runDocket(
      ['regions', 'set', 'eu-north', 'degraded', '--note', 'x'.repeat(501)],
      env,
    );
    expect([long.code, long.stderr.includes('at most 500')]).toEqual([1, true]);
    expect(await statusOf('eu-north')).toBe('normal');
  });

  it('sets a status also while the database is away, and says that it is not recorded', async () => {
    const away = { ...env, DATABASE_URL: 'postgres://127.0.0.1:1/none' };
    const { code, stderr } = await runDocket(['regions', 'set', 'us-east', 'degraded'], away);
    expect(code).toBe(1);
    expect(stderr).toBe(
      'docket: The region us-east is degraded now, but the audit log could not be written.\n',
    );
    expect(await statusOf('us-east')).toBe('degraded');
  });

  it('refuses a region that is not in the catalogue and a status that is none', async () => {
    expect(await runDocket(['regions', 'set', 'mars', 'normal'], env)).toMatchObject({
      code: 1,
      stderr: 'docket: No such region.\n',
    });
    expect((await runDocket(['regions', 'set', 'eu-west', 'saturated'], env)).code).toBe(1);
  });

  it('says in one line when Redis cannot be reached', async () => {
    const { code, stderr } = await runDocket(['regions', 'list'], {
      ...env,
      REDIS_URL: 'redis://127.0.0.1:1',
    });
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'docket: Redis cannot be reached.\n' });
  });
});
