import { ACCOUNT_STATES } from '#shared/accounts/account.ts';
import { ACTOR_KINDS } from '#shared/accounts/audit/entry.ts';
import { ACCOUNT_ACTS, transition } from '#shared/accounts/machine.ts';
import { Fault } from '#shared/kernel/errors.ts';

/** Every step that the machine takes with some evidence, by some actor: `approved → contracted`, sorted. */
export function accountArrows(): string[] {
  const arrows = new Set<string>();
  for (const from of ACCOUNT_STATES) {
    for (const act of ACCOUNT_ACTS) {
      for (const vetting of ['clear', 'hit'] as const) {
        for (const review of [null, 'open', 'approved', 'rejected'] as const) {
          for (const kind of ACTOR_KINDS) {
            const facts = {
              state: from,
              declared: true,
              contracted: true,
              vetting,
              vettingIsCurrent: true,
              review,
            };
            try {
              arrows.add(`${from} → ${transition(facts, act, { kind }, 'because').to}`);
            } catch (error) {
              if (!(error instanceof Fault)) throw error;
            }
          }
        }
      }
    }
  }
  return [...arrows].toSorted();
}
