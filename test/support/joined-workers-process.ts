/** The workers of the main path in one process, as roles of the background share one: for tests that strike none of them. */
import { runTogether } from '#shared/process/run-process.ts';
import { inferenceProcess } from '#workers/inference/deps.ts';
import { ledgerProcess } from '#workers/ledger/deps.ts';
import { receiptsProcess } from '#workers/receipts/deps.ts';

await runTogether([
  { role: 'inference', build: inferenceProcess },
  { role: 'receipts', build: receiptsProcess },
  { role: 'ledger', build: ledgerProcess },
]);
