import { describe, expect, it } from 'vitest';
import { startProcess, type StartedProcess } from '#test/support/processes.ts';

const start = (env: Record<string, string> = {}): Promise<StartedProcess> =>
  startProcess({ role: 'api', env, entry: 'test/embedded/processes/stub-process.ts' });

describe('a process started by a test', () => {
  it('is ready with its ports when the start returns, and stops when asked', async () => {
    const started = await start();
    expect(started).toMatchObject({ port: 1, metricsPort: 2 });
    expect(await started.stop()).toBe(0);
    expect(started.output()).toContain('starting');
    expect(started.logs().map((entry) => entry['event'])).toEqual(['ready', 'stopped']);
  });

  it('sees the environment it was given, not that of the test run', async () => {
    const started = await start({ DATABASE_URL: 'postgres://nowhere' });
    await started.stop();
    const seen = started.logs().at(-1)?.['seen'];
    expect(seen).toContain('DATABASE_URL');
    expect(seen).not.toContain('VITEST');
  });

  it('can be killed without warning', async () => {
    const started = await start();
    started.kill('SIGKILL');
    expect(await started.exited).toBeNull();
  });

  it('fails the start with its output when it ends before it is ready', async () => {
    await expect(start({ MODE: 'fail' })).rejects.toThrow(/the catalogue is wrong/);
  });

  it('is ended with the file when a test leaves it running', async () => {
    expect((await start()).pid).toBeGreaterThan(0);
  });
});
