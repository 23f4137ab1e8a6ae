import { describe, expect, it } from 'vitest';
import type { Role } from '#shared/config/settings.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { isDeep } from '#test/support/depth.ts';
import { sendLoad } from '#test/support/load.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem } from '#test/support/system.ts';

const REQUESTS = isDeep ? 500 : 200;

/**
 * Two of the role, one of which is killed without warning while requests run, and started again a little later as an
 * orchestrator would. Every request that was answered must be in the ledger exactly once.
 */
describe('SIGKILL of one of two processes', async () => {
  const system = await startSystem({
    replicas: { api: 2, inference: 2, receipts: 2, ledger: 2 },
  });

  // An api process that comes back has another port: it is the last.
  it.each(['inference', 'receipts', 'ledger', 'api'] as Role[])(
    'every answered request has exactly one receipt and one ledger entry, without a gap, when a process is killed: %s',
    {
      tags: [
        'codes.worker_lost',
        'survives.api',
        'survives.inference-worker',
        'survives.receipts-worker',
        'survives.ledger-worker',
      ],
    },
    async (role) => {
      const [victim] = system.processes(role);
      let restarted: Promise<unknown> | undefined;
      const seen = await sendLoad(system, {
        requests: REQUESTS,
        concurrency: 24,
        onProgress: (finished) => {
          if (finished === REQUESTS / 5) victim!.kill('SIGKILL');
          if (finished === REQUESTS * 0.3) restarted = system.start(role);
        },
      });
      await restarted;

      const answered = seen.filter(({ answered: whole }) => whole);
      // An api process takes its own connections with it; nothing else may cost a client its answer,
      // but for streams that had begun on a killed inference worker: those end with an error frame.
      if (role === 'receipts' || role === 'ledger') expect(answered).toHaveLength(REQUESTS);
      else expect(answered.length).toBeGreaterThan(REQUESTS / 4);

      const totals = await integrated(system);
      expect(totals.gaps).toBe(0);
      expect(totals.distinct).toBe(totals.receipts);
      const { rows } = await system.database.pool.query<{ missing: string }>(
        `SELECT count(*) AS missing FROM unnest($1::text[]) AS wanted (id)
       WHERE (SELECT count(*) FROM ledger_entry e WHERE e.entry_id = wanted.id) <> 1`,
        [answered.map(({ receiptId }) => receiptId)],
      );
      expect(Number(rows[0]!.missing)).toBe(0);
      const fsck = await runDocket(['ledger', 'fsck', '--json'], {
        DATABASE_URL: system.database.url,
      });
      expect(fsck, fsck.stdout).toMatchObject({ code: 0 });
    },
  );
});
