import { isLoadedOnly } from '#shared/process/loaded-only.ts';
import { runProcess } from '#shared/process/run-process.ts';
import { receiptsProcess } from './deps.ts';

if (!isLoadedOnly()) await runProcess('receipts', receiptsProcess);
