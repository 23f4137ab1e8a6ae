import { EXIT_CONFIG, EXIT_OF } from '#shared/process/exits.ts';
import { EXIT_CODES as VERDICT_CODES } from './verify/verdicts.ts';

/** What a process or a command tells who started it. Scripts and supervisors go by these numbers, so they stay. */
interface ExitCode {
  code: number;
  means: string;
}

type ExitCodes = Readonly<Record<string, Readonly<Record<string, ExitCode>>>>;

/** Each exit code of the product, once, with what it means, by what ends with it. A command that is not named has those of every command. */
export const EXIT_CODES = {
  process: {
    stopped: { code: 0, means: 'it was told to stop, and has' },
    fault: { code: 1, means: 'a fault, which its last line says: start it again' },
    unfit: {
      code: EXIT_CONFIG,
      means:
        'it cannot work as it was set up, or beside what runs: starting it again is in vain until what its last line says is done',
    },
  },
  migrations: {
    done: { code: 0, means: 'no migration is missing' },
    failed: {
      code: 1,
      means: 'PostgreSQL cannot be reached, or a migration failed: nothing was changed',
    },
    unfit: {
      code: EXIT_CONFIG,
      means: 'as of a process; also a database with migrations that this build does not have',
    },
  },
  command: {
    done: { code: 0, means: 'it has done what it was asked' },
    failed: { code: 1, means: 'it has not, as its line on standard error says; wrong arguments' },
  },
  up: {
    stopped: { code: 0, means: 'it was told to stop, and everything has' },
    failed: { code: 1, means: 'something did not start' },
    SIGINT: {
      code: EXIT_OF.SIGINT,
      means: 'told twice to stop, the second time by Ctrl-C: killed what was left',
    },
    SIGTERM: { code: EXIT_OF.SIGTERM, means: 'the same by SIGTERM' },
  },
  verdict: {
    good: { code: VERDICT_CODES.good, means: '`GOOD`' },
    bad: {
      code: VERDICT_CODES.bad,
      means: '`BAD`; of `docket reconcile` also: packs and invoices do not agree',
    },
    cannot_judge: { code: VERDICT_CODES.cannot_judge, means: '`CANNOT JUDGE`' },
    intact: { code: VERDICT_CODES.intact, means: '`INTACT, ISSUER UNKNOWN`' },
  },
  recompute: {
    reproduced: { code: 0, means: 'every character is the same' },
    differs: { code: 1, means: 'it is not, or could not be computed' },
  },
  fsck: {
    sound: { code: 0, means: 'sound, and all that was published is there' },
    failed: { code: 1, means: 'it could not look' },
    damaged: { code: 2, means: 'damaged' },
    attention: { code: 3, means: 'sound, but something waits for a person' },
    behind: { code: 4, means: 'less, or other, than what was published' },
  },
  doctor: {
    healthy: { code: 0, means: 'nothing is wrong; there may be warnings' },
    ill: { code: 1, means: 'something is wrong' },
  },
  catalogue: {
    usable: { code: 0, means: 'it can be used' },
    unusable: { code: 1, means: 'it cannot' },
    silent: {
      code: 2,
      means: 'with `--probe`: it can, and an endpoint does not answer as it should',
    },
  },
  policy: {
    passes: { code: 0, means: 'the text would pass' },
    failed: { code: 1, means: 'it could not look' },
    blocked: { code: 3, means: 'the text would be blocked' },
  },
} as const satisfies ExitCodes;
