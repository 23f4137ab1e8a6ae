#!/usr/bin/env node
import { runProgram } from './program.ts';

// The reader (`| head`) has seen enough; the exit code stays what it is.
for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
}
await runProgram(process.argv.slice(2));
