import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runDocket } from '#test/support/docket-cli.ts';
import type { StartedProcess } from '#test/support/processes.ts';
import { expectSigned, idOf, type Receipt } from '#test/support/receipts.ts';
import type { System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const BODY = JSON.stringify({
  model: 'sandbox-unsized',
  messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
  max_tokens: 5,
});
const IDEMPOTENT = { 'idempotency-key': 'mended-later' };

/** Receipts of a model whose size is not on record, until it is. */
export function recalculation(system: () => System): void {
  let worker: StartedProcess;
  beforeAll(async () => {
    worker = await system().start('recalculation');
  });

  const post = (path: string, body: string, headers = {}): Promise<Response> =>
    fetch(`${system().baseUrl}${path}`, {
      method: 'POST',
      body,
      headers: {
        authorization: `Bearer ${system().key}`,
        'content-type': 'application/json',
        ...headers,
      },
    });
  const get = (path: string) =>
    fetch(`${system().baseUrl}${path}`, { headers: { authorization: `Bearer ${system().key}` } });
  const complete = async (headers = {}): Promise<Receipt> => {
    const response = await post('/chat/completions', BODY, headers);
    return ((await response.json()) as { receipt: Receipt }).receipt;
  };
  const chainOf = async (id: string): Promise<Receipt[]> =>
    ((await (await get(`/receipts/${id}/revisions`)).json()) as { data: Receipt[] }).data;

  describe('a model of which no size is on record', () => {
    let first: Receipt;

    it('a model of unknown size answers all the same, with a degraded receipt that says what happens next [errors.completion-kept]', async () => {
      first = await complete(IDEMPOTENT);
      await expectSigned(system(), first);
      expect(first).toMatchObject({
        tier: 'degraded',
        degradation: { code: 'model_size_unknown', requestedTier: 'enterprise' },
        explanation: expect.stringContaining('will be recalculated') as string,
      });
    });

    it('a degraded receipt is tried again in vain while nothing has changed, and can be flagged once at a time', async () => {
      const id = idOf(first);
      await until(() =>
        worker
          .logs()
          .some(({ event, receiptId }) => event === 'recalculation_failed' && receiptId === id),
      );
      const path = `/receipts/${id}/recalculate`;
      expect((await post(path, '')).status).toBe(202);
      const listed = await runDocket(['receipts', 'list', '--json'], {
        DATABASE_URL: system().database.url,
      });
      expect(JSON.parse(listed.stdout)).toMatchObject([
        { receipt_id: id, code: 'model_size_unknown' },
      ]);
      expect(await chainOf(id)).toHaveLength(1);
    });

    it('a degraded receipt is recalculated by itself once the catalogue is mended and reloaded [receipts.recalculated]', async () => {
      const id = idOf(first);
      const path = system().env['CATALOGUE']!;
      const unsized = readFileSync(path, 'utf8');
      const sized = 'footprint: { active_b: 8, total_b: 8 }';
      // The first that has none.
      writeFileSync(path, unsized.replace('footprint: {}', sized));
      for (const role of ['recalculation', 'receipts'] as const) {
        for (const started of system().processes(role)) started.kill('SIGHUP');
      }
      await until(
        async () => (await chainOf(id)).length === 2,
        'the recalculated receipt is there',
      );
      const [original, revised] = await chainOf(id);
      expect(original).toEqual(first);
      await expectSigned(system(), revised);
      expect(revised).toMatchObject({
        tier: 'enterprise',
        credentialSubject: first.credentialSubject,
        measurement: { dataQuality: 'T3' },
        wasRevisionOf: { id: first.id },
        revisionNumber: 1,
      });
      const stored = await get(`/receipts/${id}`);
      expect(stored.headers.get('link')).toBe(
        `</v1/receipts/${idOf(revised!)}>; rel="successor-version"`,
      );
      expect(await stored.json()).toEqual(first);
    });

    it('both receipts are in the ledger with proofs, and fsck finds nothing [receipts.recalculated]', async () => {
      const chain = await chainOf(idOf(first));
      for (const receipt of chain) {
        await until(async () => (await get(`/receipts/${idOf(receipt)}/proof`)).status === 200);
      }
      const env = { DATABASE_URL: system().database.url, REDIS_URL: system().redis.url };
      expect((await runDocket(['ledger', 'fsck', '--json'], env)).code).toBe(0);
      const { derivation } = chain[1]!.measurement!;
      const published = await fetch(system().root + new URL(derivation!).pathname);
      const file = join(mkdtempSync(join(tmpdir(), 'docket-derivation-')), 'derivation.json');
      writeFileSync(file, await published.text());
      const args = ['recompute', '-', '--derivation', file];
      const recomputed = await runDocket(args, {}, JSON.stringify(chain[1]));
      expect(recomputed).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('REPRODUCED') as string,
      });
    });

    it('an idempotent repetition still gets the first receipt after a recalculation [idempotency.first-receipt]', async () => {
      const response = await post('/chat/completions', BODY, IDEMPOTENT);
      expect(response.headers.get('idempotent-replayed')).toBe('true');
      expect(((await response.json()) as { receipt: Receipt }).receipt).toEqual(first);
      expect(await chainOf(idOf(first))).toHaveLength(2);
    });

    it('nothing is left to recalculate afterwards', async () => {
      const again = await post(`/receipts/${idOf(first)}/recalculate`, '');
      expect(again.status).toBe(409);
      expect(await again.json()).toMatchObject({ error: { code: 'not_degraded' } });
      const env = { DATABASE_URL: system().database.url };
      expect((await runDocket(['receipts', 'list'], env)).stdout).toContain('No receipt waits');
      await until(async () => {
        const metrics = await (
          await fetch(`http://127.0.0.1:${worker.metricsPort}/metrics`)
        ).text();
        return /docket_recalculations\{[^}]*state="parked"[^}]*\} 0/.test(metrics);
      });
    });

    it('the model’s next answer has a whole receipt at once', async () => {
      expect((await complete()).tier).toBe('enterprise');
    });
  });

  describe('an operator who asks for everything since a day', () => {
    it('an operator who asks for everything since a day is told that nothing needed another estimate', async () => {
      // What is not integrated yet would be skipped.
      await until(async () => {
        const { rows } = await system().database.pool.query(
          'select from receipt_pending where org_id = $1',
          [system().orgId],
        );
        return rows.length === 0;
      });
      const { stdout, stderr, code } = await runDocket(
        [
          'receipts',
          'recalculate',
          '--org',
          system().orgId,
          '--since',
          '2026-01-01',
          '--wait',
          '--json',
        ],
        { DATABASE_URL: system().database.url },
      );
      expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
      expect(JSON.parse(stdout)).toEqual({
        org_id: system().orgId,
        flagged: 0,
        examined: 2,
        restated: 0,
        skipped: 0,
      });
    });

    it('an operator who names no existing organisation or no day is refused', async () => {
      const env = { DATABASE_URL: system().database.url };
      const args = ['receipts', 'recalculate', '--org'];
      const none = await runDocket([...args, 'org_none', '--since', '2026-01-01'], env);
      expect(none.code).toBe(1);
      const day = await runDocket([...args, system().orgId, '--since', 'soon'], env);
      expect(day).toMatchObject({ code: 1, stderr: expect.stringContaining('--since') as string });
    });
  });

  it('recalculation processes exit with 0 when they are told to stop', async () => {
    expect(await worker.stop()).toBe(0);
  });
}
