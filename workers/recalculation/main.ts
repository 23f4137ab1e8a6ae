import { runProcess } from '#shared/process/run-process.ts';
import { recalculationProcess } from './deps.ts';

await runProcess('recalculation', recalculationProcess);
