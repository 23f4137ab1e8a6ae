import type { ElectricityContract } from '#shared/config/parsers.ts';
import type { Evidence } from '#shared/packs/report/statement.ts';

/** What no receipt says and a report needs: the operator’s name, its contracts for electricity, its evidence. */
export interface OperatorStatement {
  name?: string | undefined;
  /** A LEI, a number in a register. */
  identifier?: string | undefined;
  contracts: readonly ElectricityContract[];
  /** Of everything that is declared; a pack names what concerns it. */
  evidence: readonly Evidence[];
  /** Days for which packs are kept. */
  keptDays: number;
}
