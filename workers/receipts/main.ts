import { runProcess } from '#shared/process/run-process.ts';
import { receiptsProcess } from './deps.ts';

await runProcess('receipts', receiptsProcess);
