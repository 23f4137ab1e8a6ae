import type { Credential, Scope } from '#shared/keys/credential.ts';
import { KEY_LENGTH } from '#shared/keys/format.ts';

const MANY = 1_000_000;
const UNBOUND = {
  requestsPerSecond: MANY,
  burst: MANY,
  requestsPerDay: MANY,
  concurrentStreams: MANY,
};

/** Keys that exist in this process alone. */
export class TestCredentials {
  readonly #byToken = new Map<string, Credential>();

  /** A new key of an organisation whose limits do not matter; returns its token. */
  issue(orgId: string, scopes: readonly Scope[], over: Partial<Credential> = {}): string {
    const token = String(this.#byToken.size).padStart(KEY_LENGTH, 'k');
    this.#byToken.set(token, {
      keyId: 'key_test',
      orgId,
      keyState: 'active',
      expiresAt: null,
      scopes,
      plan: 'enterprise',
      accountState: 'active',
      limits: UNBOUND,
      keyLimit: null,
      allowedRegions: null,
      allowedModels: null,
      keepResponses: false,
      tags: [],
      budgets: [],
      ...over,
    });
    return token;
  }

  revoke(token: string): void {
    this.#byToken.set(token, { ...this.#byToken.get(token)!, keyState: 'revoked' });
  }

  lookup(token: string): Credential | null {
    return this.#byToken.get(token) ?? null;
  }

  ownerOf(token: string): Credential | undefined {
    const credential = this.#byToken.get(token);
    return credential?.keyState === 'active' ? credential : undefined;
  }
}
