import { runProcess } from '#shared/process/run-process.ts';
import { exportsProcess } from './deps.ts';

await runProcess('exports', exportsProcess);
