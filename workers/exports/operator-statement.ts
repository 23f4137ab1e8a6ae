import type { ElectricityContract } from '#shared/config/parsers.ts';
import type { Evidence, Inventory } from '#shared/packs/report/statement.ts';

/** What no receipt says and a report needs: the operator’s name, its contracts for electricity, its evidence, how it accounts. */
export interface OperatorStatement {
  name?: string | undefined;
  /** A LEI, a number in a register. */
  identifier?: string | undefined;
  contracts: readonly ElectricityContract[];
  /** Of everything that is declared; a pack names what concerns it. */
  evidence: readonly Evidence[];
  inventory?: Inventory | undefined;
  /** C2SP tlog-policy. */
  witnessPolicy?: string | undefined;
  /** Days for which packs are kept. */
  keptDays: number;
}
