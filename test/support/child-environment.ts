import { type Environment, readEnvironment } from '#shared/config/config.ts';

/**
 * What a process that a test starts has of the test's own environment: where things are, which run it belongs to, and what
 * makes starts quick.
 */
const INHERITED = [
  'PATH',
  'HOME',
  'TMPDIR',
  'DOCKET_TEST_RUN',
  'NODE_COMPILE_CACHE',
  'NODE_OPTIONS',
];

/**
 * The environment that each process of a test run begins with; settings of the shell are not in it. Those of the project
 * `alone`, which has no options of Node, have the deadlines that are shipped.
 */
export function childEnvironment(): Environment {
  const own = readEnvironment();
  const inherited = Object.fromEntries(INHERITED.map((name) => [name, own[name]]));
  return own['NODE_OPTIONS'] === ''
    ? { ...inherited, NODE_OPTIONS: own['DOCKET_TEST_SHIPPED'] }
    : inherited;
}
