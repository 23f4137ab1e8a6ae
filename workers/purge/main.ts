import { isStarted } from '#shared/process/is-started.ts';
import { runProcess } from '#shared/process/run-process.ts';
import { purgeProcess } from './deps.ts';

if (isStarted(import.meta)) await runProcess('purge', purgeProcess);
