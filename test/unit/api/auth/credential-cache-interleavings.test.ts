import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CredentialCache } from '#api/auth/credential-cache.ts';
import type { Credential } from '#shared/keys/credential.ts';
import { generateKey, hashKey } from '#shared/keys/format.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { credential, HeldSource, silent } from '#test/support/held-credentials.ts';

const token = generateKey(randomBytes);
const hash = hashKey(token);

describe('the credential cache', () => {
  it('under any interleaving, once a notice of a change has come the old state is never seen [keys.one-second]', async () => {
    const step = fc.oneof(
      fc.constant({ type: 'lookup' as const }),
      fc.constant({ type: 'revoke' as const }),
      fc.constant({ type: 'restore' as const }),
      fc.constant({ type: 'hold' as const }),
      fc.constant({ type: 'release' as const }),
      fc.record({ type: fc.constant('wait' as const), ms: fc.nat(3_000) }),
      fc.constant({ type: 'turn' as const }),
    );
    await forAllAsync(
      [fc.array(step, { maxLength: 60 })],
      { numRuns: runs(300) },
      async (steps) => {
        const store = new HeldSource();
        let now = 0;
        const tested = new CredentialCache({
          source: store,
          observer: silent,
          monotonicNow: () => now,
        });
        store.rows.set(hash, credential({ keyId: 'key_0' }));
        const pending: Promise<unknown>[] = [];
        let version = 0;
        const put = (keyState: Credential['keyState']): void => {
          version += 1;
          store.rows.set(hash, credential({ keyState, keyId: `key_${version}` }));
          tested.changed({ kind: 'key', hash, at: 0 });
        };
        for (const { type, ...rest } of steps) {
          if (type === 'revoke') put('revoked');
          if (type === 'restore') put('active');
          if (type === 'hold') store.hold();
          if (type === 'release') store.release();
          if (type === 'wait') now += (rest as { ms: number }).ms;
          if (type === 'turn') await turn();
          if (type === 'lookup') {
            const asked = version;
            const check = (found: Credential | null): void => {
              expect(versionOf(found)).toBeGreaterThanOrEqual(asked);
            };
            const found = tested.lookup(token);
            if (found instanceof Promise) pending.push(found.then(check));
            else check(found);
          }
        }
        store.release();
        await Promise.all(pending);
      },
    );
  });
});

/** The rows are numbered by the changes that made them: `key_<n>`. */
function versionOf(found: Credential | null): number {
  return found === null ? -1 : Number(found.keyId.slice('key_'.length));
}
