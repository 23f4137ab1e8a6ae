import { runProcess } from '#shared/process/run-process.ts';
import { inferenceProcess } from './deps.ts';

await runProcess('inference', inferenceProcess);
