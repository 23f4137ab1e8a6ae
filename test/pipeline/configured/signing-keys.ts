import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { chatBody, post } from '#test/support/calls.ts';
import { HERE, runDocket } from '#test/support/docket-cli.ts';
import { expectSigned, type Receipt } from '#test/support/receipts.ts';
import type { System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

interface ListedKey {
  purpose: string;
  state: string;
  thumbprint: string;
}

/** The key that signs receipts, rotated and revoked. */
export function signingKeys(system: () => System): void {
  let env: Record<string, string>;
  beforeAll(() => {
    env = { SIGNING_KEYS_DIR: system().signingKeysDir, DATABASE_URL: system().database.url };
  });

  async function docket(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runDocket(['keys-signing', ...args, '--json'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  }

  async function listed(state: string): Promise<string | undefined> {
    const keys = JSON.parse(await docket('list')) as ListedKey[];
    return keys.find((key) => key.purpose === 'receipts' && key.state === state)?.thumbprint;
  }

  async function wellKnown(name: string): Promise<string> {
    return (await fetch(`${system().root}/.well-known/${name}`)).text();
  }

  async function receipt(): Promise<Receipt & { proof: { verificationMethod: string } }> {
    const answer = (await (await post(system(), '/chat/completions', chatBody())).json()) as {
      receipt: Receipt & { proof: { verificationMethod: string } };
    };
    return answer.receipt;
  }

  describe('a rotation of the key that signs receipts', () => {
    it('a rotation needs no restart: the next key is published, then used, and old receipts stay good [survives.key-rotation]', async () => {
      const by = ['--reason', 'yearly'];
      const before = await receipt();
      const old = (await listed('active'))!;
      expect(before.proof.verificationMethod).toContain(old);

      await docket('rotate', 'receipts', ...by);
      const next = (await listed('next'))!;
      await until(async () => (await wellKnown('did.json')).includes(next));
      expect(await wellKnown('jwks.json')).toContain(next);
      expect((await receipt()).proof.verificationMethod).toContain(old);

      const early = await runDocket(['keys-signing', 'rotate', 'receipts'], env);
      expect(early.code).toBe(1);
      expect(early.stderr).toMatch(/may be used from/);

      const elevenMinutesAgo = Date.now() / 1_000 - 660;
      utimesSync(
        join(system().signingKeysDir, 'receipts', 'next.pem'),
        elevenMinutesAgo,
        elevenMinutesAgo,
      );
      await docket('rotate', 'receipts', ...by);
      await until(async () => (await receipt()).proof.verificationMethod.includes(next));
      await expectSigned(system(), await receipt());
      await expectSigned(system(), before);
    });

    it('a revoked signing key is no longer vouched for', async () => {
      const old = (await listed('retired'))!;
      await docket('revoke', 'receipts', old);
      await until(async () => !(await wellKnown('jwks.json')).includes(old));
      const did = JSON.parse(await wellKnown('did.json')) as {
        assertionMethod: string[];
        verificationMethod: { id: string; revoked?: string }[];
      };
      expect(did.assertionMethod.join(' ')).not.toContain(old);
      expect(did.verificationMethod.find(({ id }) => id.endsWith(old))).toHaveProperty('revoked');
    });

    it('a rotation is in the audit log, with who and why', async () => {
      const { rows } = await system().database.pool.query<Record<string, unknown>>(
        `select action, actor_id, subject, reason from audit_log where action like 'signing_key.%' order by sequence`,
      );
      expect(rows.map(({ action }) => action)).toEqual([
        'signing_key.published',
        'signing_key.activated',
        'signing_key.revoked',
      ]);
      expect(rows[0]).toMatchObject({ actor_id: HERE, subject: 'receipts', reason: 'yearly' });
    });
  });
}
