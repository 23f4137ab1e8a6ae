import { type Judgement, judgementOf } from '#cli/verify/judgement.ts';
import { headline } from '#cli/verify/said.ts';
import { type FetchedLog, judgeFetchedLog } from './fetched-log.ts';

/** Judges an audit log offline. @param file what its entries are called. @throws CannotJudge */
export function auditJudgement(fetched: FetchedLog, file: string): Judgement {
  const found = judgeFetchedLog(fetched);
  const { verdict, message, log, size, beyond, anchored } = found;
  return judgementOf(
    {
      verdict,
      headline: headline(verdict, message, { file }),
      facts: {
        log,
        'entries signed': size,
        'entries after that': beyond,
        'entries anchored': anchored ?? 'not looked at: no anchor was given',
      },
      details: {},
      closing: [],
    },
    found,
  );
}
