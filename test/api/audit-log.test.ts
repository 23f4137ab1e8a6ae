import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { hashEntry } from '#shared/accounts/audit/chain.ts';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { auditLogOf } from '#shared/ledger/origins.ts';
import { publishAuditHeads } from '#shared/ledger/postgres/audit-checkpoints.ts';
import { publicKeyMultibase } from '#shared/receipts/signing/identifiers.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { type FetchedLog, judgeEntriesAlone, judgeFetchedLog } from '#cli/audit/fetched-log.ts';
import { auditPagesIn } from '#cli/verify/chosen-files.ts';
import { createAnchorWriter } from '#test/support/anchor.ts';
import { openEdge } from '#test/support/app.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { makeCheckpointMemory, makeCheckpointSigner } from '#test/support/ledger.ts';

const database = await createTestDatabase();
const worker = database.poolAs('docket_ledger', 2);
const edge = await openEdge(database.poolAs('docket_api'));
const [key, other] = ['org_a', 'org_b'].map((orgId) => edge.keyFor(orgId, ['admin:keys']));
const signer = makeCheckpointSigner();
const writer = createAnchorWriter();
const did = 'did:web:gateway.example';
const didOf = (...publicKeys: Uint8Array[]): string =>
  JSON.stringify({
    id: did,
    verificationMethod: publicKeys.map((raw, i) => ({
      id: `${did}#${i}`,
      type: 'Multikey',
      controller: did,
      publicKeyMultibase: publicKeyMultibase(raw),
    })),
  });
const keysOf = (...publicKeys: Uint8Array[]) => trustedKeysOf(didOf(...publicKeys));
const chosen = { keys: keysOf(signer.publicKey, writer.signer.publicKey), isChosen: true };

interface Entry {
  sequence: number;
  reason: string | null;
  [name: string]: unknown;
}
let entries: Entry[];
let fetched: FetchedLog;

beforeAll(async () => {
  const log = createAuditLog(database.poolAs('docket_operator', 1), systemSurroundings);
  const actor = { kind: 'user', id: 'usr_"1"', address: '192.0.2.7' } as const;
  for (const orgId of ['org_a', 'org_b']) {
    for (let i = 0; i < 25; i += 1) {
      await log.append({
        orgId,
        actor,
        action: 'key.revoked',
        ...(i % 2 === 0 ? {} : { subject: `key_${i}`, reason: 'µ \\ "quoted" 🙂\n' }),
        details: {
          text: 'ä\u2028 </script>',
          count: i,
          none: null,
          is: true,
          list: ['b', 'a'],
          7: 'seven',
        },
      });
    }
  }
  await publishAuditHeads(worker, {
    signer,
    memory: makeCheckpointMemory(),
    originOf: (orgId) => `gateway.example/${auditLogOf(orgId)}`,
    limit: 10,
  });
  await writer.turn(worker);
  const first = (await edge.get('/audit-log?limit=20&order=asc', key!)).json();
  const second = (
    await edge.get(`/audit-log?limit=20&order=asc&after=${first.last_id}`, key!)
  ).json();
  entries = [...first.data, ...second.data];
  fetched = {
    // Pages in any order, one a line.
    entries: `${JSON.stringify(second)}\n${JSON.stringify(first)}\n`,
    checkpoint: (await edge.get('/audit-log/checkpoint', key!)).text,
    anchor: (await edge.get('/audit-log/anchor', key!)).text,
    trust: chosen,
  };
});

describe('GET /audit-log', () => {
  const list = async (query: string) => {
    const answer = await edge.get(`/audit-log?limit=100&${query}`, key!);
    return { status: answer.status, body: answer.json() };
  };

  it('finds entries by action, actor, subject and period, and by all together', async () => {
    const whole = (await list('order=asc')).body.data as (Entry & { at: string })[];
    const at = whole[7]!.at;
    const actor = `actor=${encodeURIComponent('usr_"1"')}`;
    const filters = ['action=key.revoked', actor, 'subject=key_7', `from=${at}`];
    expect((await list(filters.join('&'))).body.data).toEqual([whole[7]]);
    for (const [query, fits] of [
      ['subject=key_7', (e: Entry) => e['subject'] === 'key_7'],
      [`from=${at}`, (e: Entry) => String(e['at']) >= at],
      [`to=${at}`, (e: Entry) => String(e['at']) < at],
      ['action=key.issued', () => false],
    ] as const) {
      expect((await list(`order=asc&${query}`)).body.data, query).toEqual(whole.filter(fits));
    }
  });

  it.each([
    ['action=key.revokd', 'invalid_action'],
    ['from=2026', 'invalid_from'],
    ['person=x', 'invalid_person'],
  ])('400 for %s, by which nothing can be found', async (query, code) => {
    const { status, body } = await list(query);
    expect([status, body.error.code]).toEqual([400, code]);
  });
});

const judged = (over: Partial<FetchedLog> = {}) => judgeFetchedLog({ ...fetched, ...over });
/** Entries, and as many more that follow from them. */
const followedBy = (all: readonly Entry[], more: number): Entry[] => {
  const longer = [...all];
  for (let i = 0; i < more; i += 1) {
    const last = longer.at(-1)! as Entry & { hash: string; at: string };
    const sequence = last.sequence + 1;
    const hash = hashEntry({
      orgId: 'org_a',
      sequence,
      id: last['id'] as string,
      at: Date.parse(last.at),
      action: 'key.revoked',
      actorKind: 'user',
      actorId: (last['actor'] as { id: string }).id,
      address: '192.0.2.7',
      subject: null,
      reason: null,
      details: '{}',
      previousHash: last.hash,
    });
    longer.push({
      ...last,
      sequence,
      subject: null,
      reason: null,
      details: {},
      previous_hash: last.hash,
      hash,
    });
  }
  return longer;
};
const page = (data: readonly unknown[]): string => JSON.stringify({ object: 'list', data });

describe('an audit log that its organisation fetched', () => {
  it('is judged good offline, from its entries, its signed head and its anchor [evidence.audit-log]', () => {
    expect(judged()).toEqual({
      verdict: 'good',
      message: expect.any(String) as unknown,
      log: 'gateway.example/audit/org_a',
      size: 25,
      beyond: 0,
      anchored: 25,
    });
    const { trust: _, ...unknown } = fetched;
    expect(judgeFetchedLog(unknown).verdict).toBe('intact');
  });

  it('says how many entries were signed, and by whose keys, of entries that came after the head as well', () => {
    const longer = followedBy(entries, 2);
    for (const [more, words] of [
      [
        0,
        /^The first 25 entries are there, unchanged and in their places, as the issuer signed\.$/,
      ],
      [1, /as the issuer signed\. One more follows from them without a signature over it\.$/],
      [2, /as the issuer signed\. 2 more follow from them without a signature over them\.$/],
    ] as const) {
      const { verdict, message, beyond } = judged({ entries: page(longer.slice(0, 25 + more)) });
      expect([verdict, message, beyond]).toEqual(['good', expect.stringMatching(words), more]);
    }
    const { trust: named, ...unknown } = fetched;
    expect(judgeFetchedLog(unknown).message).toMatch(/who signed that was not checked/);
    const lying = { ...named!, isChosen: false };
    expect(judged({ trust: lying })).toMatchObject({ verdict: 'intact' });
  });

  it('is judged bad by keys that sign receipts, which sign no heads', () => {
    const { keys } = chosen;
    const asserting = new Map([...keys].map(([kid, each]) => [kid, { ...each, mayAssert: true }]));
    expect(judged({ trust: { keys: asserting, isChosen: true } }).verdict).toBe('bad');
  });

  it('cannot be judged good or bad without its head, or while pages are missing', () => {
    const cannot = (words: RegExp) =>
      expect.objectContaining({
        name: 'CannotJudge',
        message: expect.stringMatching(words),
      }) as Error;
    expect(() => judgeEntriesAlone(fetched.entries)).toThrow(cannot(/^Its entries 0 to 24 name/));
    const gap = page(entries.filter(({ sequence }) => sequence !== 7));
    expect(() => judgeEntriesAlone(gap)).toThrow(
      cannot(/^Its entry 8 does not follow from entry 6/),
    );
    expect(() => judgeEntriesAlone(page([]))).toThrow(cannot(/no entries/));
    const first = JSON.stringify({ object: 'list', data: entries.slice(0, 20), has_more: true });
    expect(() => judged({ entries: first })).toThrow(cannot(/^Pages of the entries are missing/));
  });

  it.each<[string, (all: Entry[]) => Entry[]]>([
    ['altered', (all) => all.map((e) => (e.sequence === 7 ? { ...e, reason: 'another' } : e))],
    [
      'altered in its details',
      (all) => all.map((e) => (e.sequence === 7 ? { ...e, details: {} } : e)),
    ],
    [
      'given the same time in other words',
      (all) => all.map((e) => ({ ...e, at: `${String(e['at']).replace('T', ' ')} (or later)` })),
    ],
    ['left out', (all) => all.filter(({ sequence }) => sequence !== 7)],
    ['left out at the beginning', (all) => all.slice(1)],
    ['left out at the end', (all) => all.slice(0, -1)],
    ['doubled', (all) => [...all, all[3]!]],
    [
      'given the number of another',
      (all) => all.map((e) => (e.sequence === 7 ? { ...e, sequence: 8 } : e)),
    ],
  ])('is judged bad when an entry was %s', (_, edit) => {
    expect(judged({ entries: page(edit(entries)) }).verdict).toBe('bad');
  });

  it.each<[string, (text: string) => string, RegExp]>([
    [
      'a reason twice',
      (text) => text.replace('"reason":', '"reason":"Asked by Eve","reason":'),
      /a name stands twice/,
    ],
    [
      'a member more',
      (text) => text.replace('"reason":', '"note":"Asked by Eve","reason":'),
      /more than its hash is over: note/,
    ],
    [
      'a name of its actor',
      (text) => text.replace('"kind":', '"name":"Eve","kind":'),
      /more than its hash is over: name/,
    ],
  ])('cannot be judged with %s, which no hash is over', (_, edit, words) => {
    const text = page(entries);
    const edited = edit(text);
    expect(edited).not.toBe(text);
    const cannot = expect.objectContaining({
      name: 'CannotJudge',
      message: expect.stringMatching(words),
    }) as Error;
    expect(() => judged({ entries: edited })).toThrow(cannot);
    expect(() => judged({ entries: auditPagesIn(edited)!.join('\n') })).toThrow(cannot);
  });

  it('is judged bad with the head, the anchor or the keys of another', async () => {
    const [checkpoint, anchor] = await Promise.all(
      ['checkpoint', 'anchor'].map(
        async (what) => (await edge.get(`/audit-log/${what}`, other!)).text,
      ),
    );
    expect(judged({ checkpoint: checkpoint! }).verdict).toBe('bad');
    expect(judged({ anchor: anchor! }).verdict).toBe('bad');
    expect(
      judged({ trust: { keys: keysOf(makeCheckpointSigner().publicKey), isChosen: true } }).verdict,
    ).toBe('bad');
    expect(judged({ trust: { keys: keysOf(signer.publicKey), isChosen: true } }).verdict).toBe(
      'bad',
    );
  });

  it('docket audit verify-file gives verdict and exit code, offline, in a line that names the file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'docket-audit-'));
    const saved = async (name: string, text: string): Promise<string> => {
      const path = join(directory, name);
      await writeFile(path, text);
      return path;
    };
    const log = await saved('log.ndjson', fetched.entries);
    const beside = [
      '--checkpoint',
      await saved('checkpoint.txt', fetched.checkpoint),
      '--anchor',
      await saved('anchor.json', fetched.anchor!),
    ];
    const trust = await saved('did.json', didOf(signer.publicKey, writer.signer.publicKey));
    const cut = await saved('cut.json', page(entries.slice(0, -1)));
    for (const [file, more, code, start] of [
      [log, ['--trust', trust], 0, 'GOOD  '],
      [log, [], 3, 'INTACT, ISSUER UNKNOWN  '],
      [cut, ['--trust', trust], 1, `BAD  ${cut}: `],
      [trust, ['--trust', trust], 2, 'CANNOT JUDGE  '],
      [log, ['--trust', log], 2, 'CANNOT JUDGE  '],
      [join(directory, 'none'), [], 2, 'CANNOT JUDGE  '],
    ] as const) {
      const said = await runDocket(['audit', 'verify-file', file, ...beside, ...more]);
      expect([said.code, said.stderr], file).toEqual([code, '']);
      expect(said.stdout.startsWith(start), said.stdout).toBe(true);
    }
    await rm(directory, { recursive: true });
  });

  it('cannot be judged from files that are something else', () => {
    for (const over of [
      { entries: 'x' },
      { entries: '{}' },
      { entries: page([null]) },
      { checkpoint: 'x' },
      { checkpoint: fetched.checkpoint.replaceAll('/audit/', '/log/') },
      { anchor: '{}' },
    ]) {
      expect(() => judged(over), JSON.stringify(over)).toThrow(
        expect.objectContaining({ name: 'CannotJudge' }) as Error,
      );
    }
  });
});

describe('the signed head and the anchor of an audit log', () => {
  it.each(['/audit-log/checkpoint', '/audit-log/anchor'])(
    '%s is for keys that may read the audit log, and of their own organisation alone',
    async (path) => {
      expect((await edge.get(path, null)).status).toBe(401);
      expect((await edge.get(path, edge.keyFor('org_a'))).json().error.code).toBe(
        'insufficient_scope',
      );
      expect((await edge.get(path, edge.keyFor('org_new', ['admin:keys']))).status).toBe(404);
      const answer = await edge.get(path, other!);
      expect(answer.text).toContain('gateway.example/audit/org_b\\n'.slice(0, -2));
      expect(answer.text).not.toContain('org_a');
      expect(answer.headers['cache-control']).toBe('no-cache');
    },
  );
});
