import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { examineLedger } from '#cli/fsck/ledger.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { ATTEMPTS_MAX, recalculate } from '#workers/recalculation/recalculate.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { isDeep } from '#test/support/depth.ts';
import {
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  mendedCatalogue,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';
import { integrateAll } from '#test/support/ledger.ts';
import { recalculateDeps } from '#test/support/recalculating.ts';

type Catalogue = 'mended' | 'plain';
/** Which statements a run has, and when it dies at each: in quick runs at each statement once. */
const DEATHS: readonly (readonly [Catalogue, 'before' | 'sent'])[] = isDeep
  ? [
      ['mended', 'before'],
      ['mended', 'sent'],
      ['plain', 'before'],
      ['plain', 'sent'],
    ]
  : [
      ['mended', 'sent'],
      ['plain', 'before'],
    ];

const database = await createTestDatabase();
const { signer, pem } = makeReceiptSigner();

interface Ending {
  signal: NodeJS.Signals | null;
  /** Statements of a whole run, when it got that far. */
  statements: number;
}

function crash(
  receiptId: string,
  catalogue: Catalogue,
  nth: number,
  moment: string,
): Promise<Ending> {
  const script = new URL('recalculation-crashing.ts', import.meta.url).pathname;
  const args = [script, database.url, receiptId, catalogue, String(nth), moment];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(pem);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (_code, signal) => resolve({ signal, statements: Number(output) }));
  });
}

/** The server notices the dead client, and lets go of what it held, only when it next reads from it. */
async function untilGone(): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query(
      `select from pg_stat_activity where application_name = 'crashing' and datname = current_database()`,
    );
    if (rows.length === 0) return;
  }
}

it('a worker that is killed at any statement neither loses a recalculation nor makes two [evidence.crash]', async () => {
  const pools = receiptPools(database);
  const worker = recalculateDeps(
    database.poolAs('docket_recalculation', 1),
    signer,
    mendedCatalogue(),
  );
  const reader = createLedgerReader(database.poolAs('docket_api', 1));
  let killed = 0;
  for (const [catalogue, moment] of DEATHS) {
    for (let nth = 1; ; nth += 1) {
      const records = [inferenceRecord({ model: UNSIZED, upstreamModel: UNSIZED })];
      const [id] = await issueReceipts(pools, signer, records);
      const { signal, statements } = await crash(id!, catalogue, nth, moment);
      await untilGone();
      // The queue delivers again; a failure that was recorded has its own time, which is over now.
      await database.pool.query('update recalculation set due_at = now()');
      await recalculate(worker, id!);
      await integrateAll(pools.ledger);
      expect(await reader.revisions('org_a', id!), `${catalogue} ${moment} ${nth}`).toHaveLength(2);
      if (signal === null) {
        expect(nth).toBe(statements + 1);
        break;
      }
      killed += 1;
    }
  }
  // Read what is owed, then commit or write the failure down.
  expect(killed).toBe(2 * DEATHS.length);
  const { rows } = await database.pool.query('select from recalculation');
  expect(rows).toEqual([]);
  for await (const found of examineLedger(database.poolAs('docket_operator', 1), {
    signatures: null,
  }))
    expect(found.severity).not.toBe('damage');
  expect(ATTEMPTS_MAX).toBeGreaterThan(1);
});
