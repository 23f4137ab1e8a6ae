import type { Credential, CredentialObserver } from '#shared/keys/credential.ts';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';

/** A credential that may do everything an audit key may; `over` says what is different. */
export const credential = (over: Partial<Credential> = {}): Credential => ({
  keyId: 'key_1',
  orgId: 'org_1',
  keyState: 'active',
  expiresAt: null,
  scopes: ['inference:write'],
  plan: 'audit',
  accountState: 'active',
  limits: PLAN_LIMITS.audit,
  keyLimit: null,
  allowedRegions: null,
  allowedModels: null,
  keepResponses: false,
  tags: [],
  budgets: [],
  ...over,
});
export const REVOKED = credential({ keyState: 'revoked' });

/** A store whose answers the test holds back and lets go. */
export class HeldSource {
  readonly rows = new Map<string, Credential>();
  readonly asked: string[][] = [];
  down = false;
  #gate: Promise<void> | null = null;
  #open: () => void = () => {};

  /** Reads see the rows as they are now, and answer only when `release` is called. */
  hold(): void {
    this.#gate ??= new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  release(): void {
    this.#gate = null;
    this.#open();
  }

  async findByHashes(hashes: readonly string[]): Promise<Map<string, Credential>> {
    this.asked.push([...hashes]);
    if (this.down) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    const seen = new Map(
      hashes.flatMap((hash) => {
        const row = this.rows.get(hash);
        return row === undefined ? [] : [[hash, row] as const];
      }),
    );
    if (this.#gate !== null) await this.#gate;
    return seen;
  }
}

/** Hears everything and says nothing. */
export const silent: CredentialObserver = {
  changeArrived() {},
  lookedUp() {},
  feedLost() {},
  feedRestored() {},
};
