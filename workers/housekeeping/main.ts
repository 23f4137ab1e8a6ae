import { isLoadedOnly } from '#shared/process/loaded-only.ts';
import { runProcess } from '#shared/process/run-process.ts';
import { housekeepingProcess } from './deps.ts';

if (!isLoadedOnly()) await runProcess('housekeeping', housekeepingProcess);
