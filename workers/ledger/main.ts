import { isLoadedOnly } from '#shared/process/loaded-only.ts';
import { runProcess } from '#shared/process/run-process.ts';
import { ledgerProcess } from './deps.ts';

if (!isLoadedOnly()) await runProcess('ledger', ledgerProcess);
