import { runProcess } from '#shared/process/run-process.ts';
import { housekeepingProcess } from './deps.ts';

await runProcess('housekeeping', housekeepingProcess);
