import { isStarted } from '#shared/process/is-started.ts';
import { runProcess } from '#shared/process/run-process.ts';
import { ledgerProcess } from './deps.ts';

if (isStarted(import.meta)) await runProcess('ledger', ledgerProcess);
