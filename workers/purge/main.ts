import { runProcess } from '#shared/process/run-process.ts';
import { purgeProcess } from './deps.ts';

await runProcess('purge', purgeProcess);
