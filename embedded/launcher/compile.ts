/**
 * Loads the modules that its arguments name, so that what they and all their imports are compiled to is in the compile
 * cache (NODE_COMPILE_CACHE) for the processes that are started next. A main file that is imported does not run.
 */
import { flushCompileCache } from 'node:module';

for (const url of process.argv.slice(2)) await import(url);
flushCompileCache();
// Whatever one of them keeps open is not waited for.
process.exit();
