/**
 * Loads the modules that its arguments name, so that what they and all their imports are compiled to is in the compile
 * cache (NODE_COMPILE_CACHE) for the processes that are started next.
 */
import { flushCompileCache } from 'node:module';
import { loadOnly } from '#shared/process/loaded-only.ts';

loadOnly();
for (const url of process.argv.slice(2)) await import(url);
flushCompileCache();
// What one of them keeps open is not waited for.
process.exit();
