import { isLoadedOnly } from '#shared/process/loaded-only.ts';
import { runProcess } from '#shared/process/run-process.ts';
import { recalculationProcess } from './deps.ts';

if (!isLoadedOnly()) await runProcess('recalculation', recalculationProcess);
