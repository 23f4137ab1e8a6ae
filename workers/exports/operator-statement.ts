import type { ElectricityContract } from '#shared/config/parsers.ts';

/** What no receipt says and a report needs: the operator’s name, and its contracts for electricity. */
export interface OperatorStatement {
  name?: string | undefined;
  /** A LEI, a number in a register. */
  identifier?: string | undefined;
  contracts: readonly ElectricityContract[];
}
