import { readEnvironment } from '#shared/config/env.ts';
import { runSandbox } from './run.ts';

runSandbox(readEnvironment());
