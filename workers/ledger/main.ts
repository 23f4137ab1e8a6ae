import { runProcess } from '#shared/process/run-process.ts';
import { ledgerProcess } from './deps.ts';

await runProcess('ledger', ledgerProcess);
