import { isStarted } from '#shared/process/is-started.ts';
import { runProcess } from '#shared/process/run-process.ts';
import { apiProcess } from './deps.ts';

if (isStarted(import.meta)) await runProcess('api', apiProcess);
