import { runProcess } from '#shared/process/run-process.ts';
import { apiProcess } from './deps.ts';

await runProcess('api', apiProcess);
