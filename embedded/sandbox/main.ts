import { readEnvironment } from '#shared/config/config.ts';
import { runSandbox } from './run.ts';

runSandbox(readEnvironment());
