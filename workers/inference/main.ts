import { isStarted } from '#shared/process/is-started.ts';
import { runProcess } from '#shared/process/run-process.ts';
import { inferenceProcess } from './deps.ts';

if (isStarted(import.meta)) await runProcess('inference', inferenceProcess);
