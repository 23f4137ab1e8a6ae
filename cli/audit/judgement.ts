import { type Judgement, judgementOf } from '#cli/verify/judgement.ts';
import { NO_KEYS, type Trust } from '#cli/verify/judge-receipt.ts';
import { headline } from '#cli/verify/said.ts';
import { type FetchedLog, judgeFetchedLog } from './fetched-log.ts';

/** Judges an audit log offline. @param file what its entries are called. @throws CannotJudge */
export function auditJudgement(
  { trust, ...fetched }: FetchedLog & { trust?: Trust | undefined },
  file: string,
): Judgement {
  const found = judgeFetchedLog({ ...fetched, trust });
  const { verdict, message, log, size, beyond, anchored } = found;
  return judgementOf(
    {
      verdict,
      headline: headline(verdict, message, { file }),
      facts: {
        trusted: (trust ?? NO_KEYS).source,
        log,
        'entries of the head': size,
        'entries after that': beyond,
        'entries anchored': anchored ?? notLookedAt(fetched.anchor),
      },
      details: {},
      closing: [],
    },
    found,
  );
}

function notLookedAt(anchor: string | undefined): string {
  return `not looked at: ${anchor === undefined ? 'no anchor was given' : 'it did not come to that'}`;
}
