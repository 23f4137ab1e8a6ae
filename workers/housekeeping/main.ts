import { isStarted } from '#shared/process/is-started.ts';
import { runProcess } from '#shared/process/run-process.ts';
import { housekeepingProcess } from './deps.ts';

if (isStarted(import.meta)) await runProcess('housekeeping', housekeepingProcess);
