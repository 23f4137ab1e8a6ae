import fc from 'fast-check';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { describe, expect, it } from 'vitest';
import type { Account, AccountState } from '#shared/accounts/account.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Vetting } from '#shared/accounts/vetting.ts';
import { accountArrows } from '#test/support/account-arrows.ts';
import {
  activeAccount,
  contract,
  currentVetting,
  createRegistries,
  decideNow,
  declaration,
  newAccount,
  OPERATOR,
  OTHER_OPERATOR,
  vetting,
} from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';

const database = await createTestDatabase();
const pool = database.poolAs('docket_operator');
const registries = createRegistries(pool);
const { accounts, vettings, keys, audit } = registries;

const ACTS = {
  declare: (id: string) => accounts.declare(id, declaration(), OPERATOR),
  vetClear: (id: string) => vet(id),
  vetFlagged: (id: string) => vet(id, { outcome: 'flagged', reasons: [reason('industry')] }),
  vetHit: (id: string) => vet(id, { outcome: 'hit', reasons: [reason('list_match')] }),
  approve: (id: string) => decideNow(registries, id, 'approved'),
  reject: (id: string) => decideNow(registries, id, 'rejected'),
  sign: (id: string) => accounts.sign(id, contract(), OPERATOR),
  activate: (id: string) => accounts.activate(id, OPERATOR),
  suspend: (id: string) => accounts.suspend(id, OPERATOR, 'because'),
  reinstate: (id: string) => accounts.reinstate(id, OPERATOR, 'because'),
  close: (id: string) => accounts.close(id, OPERATOR, 'because'),
} as const;
type ActName = keyof typeof ACTS;

async function vet(id: string, over: Partial<Vetting> = {}): Promise<Account> {
  return vettings.record(id, await currentVetting(registries, id, over));
}

function reason(kind: 'industry' | 'list_match') {
  return { kind, score: 1, text: 'a reason', entity: 'un:1' } as const;
}

/** What the specification says, written down once more and simpler than the code under test. */
class Model {
  state: AccountState = 'onboarding';
  review: 'open' | 'approved' | 'rejected' | null = null;
  /** Whether the latest vetting knows the declaration and the contract as they are. */
  vetted = false;

  /** The state after the act, or null where it must be refused. */
  // oxlint-disable-next-line typescript/consistent-return -- the switch knows every act
  apply(name: ActName): AccountState | null {
    const { state, review } = this;
    if (state === 'onboarding' && name.startsWith('vet')) return state;
    const ended = state === 'rejected' || state === 'closed';
    const { vetted } = this;
    if (name.startsWith('vet') && !ended) this.vetted = true;
    if (name === 'sign' && state === 'approved') this.vetted = false;
    if (name === 'declare' && state === 'in_review') this.vetted = false;
    switch (name) {
      case 'declare':
        // A declaration is corrected while it is reviewed.
        if (state === 'in_review') return state;
        return this.#go(state === 'onboarding', 'declared');
      case 'sign':
        return this.#go(state === 'approved', 'contracted');
      case 'activate':
        return this.#go(state === 'contracted' && review !== 'open' && vetted, 'active');
      case 'suspend':
        return this.#go(state === 'active', 'suspended');
      case 'reinstate':
        return this.#go(
          state === 'suspended' && review !== 'open' && review !== 'rejected' && vetted,
          'active',
        );
      case 'close':
        return this.#go(!ended, 'closed');
      case 'approve':
      case 'reject': {
        if (review !== 'open') return null;
        this.review = name === 'approve' ? 'approved' : 'rejected';
        return this.#go(true, state === 'in_review' ? this.review : state);
      }
      case 'vetClear':
        return this.#go(true, state === 'declared' ? 'approved' : state);
      case 'vetFlagged':
        if (state === 'declared') this.review = 'open';
        return this.#go(true, state === 'declared' ? 'in_review' : state);
      case 'vetHit':
        if (!ended && state !== 'onboarding') this.review = 'open';
        if (state === 'active') return this.#go(true, 'suspended');
        if (['declared', 'approved', 'contracted'].includes(state))
          return this.#go(true, 'in_review');
        return state;
    }
  }

  #go(isAllowed: boolean, to: AccountState): AccountState | null {
    if (!isAllowed) return null;
    this.state = to;
    return to;
  }
}

async function run(name: ActName, id: string): Promise<Account | Fault> {
  try {
    return await ACTS[name](id);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

describe('the account’s way in the database', () => {
  it('agrees with the machine at every step of any sequence of acts, and never offers a key past a gate [accounts.onboarding]', async () => {
    const names = Object.keys(ACTS) as ActName[];
    const way: ActName[] = ['declare', 'vetClear', 'sign', 'vetClear', 'activate'];
    // Half of the sequences begin far enough for the later states to be seen.
    const sequence = fc
      .tuple(fc.nat(way.length), fc.array(fc.constantFrom(...names), { maxLength: 12 }))
      .map(([begun, rest]) => [...way.slice(0, begun), ...rest]);
    await forAllAsync([sequence], { numRuns: runs(60, 12) }, async (acts) => {
      const { id } = await accounts.create(newAccount(), OPERATOR);
      const model = new Model();
      for (const name of acts) {
        const expected = model.apply(name);
        const result = await run(name, id);
        if (expected === null) expect(result).toMatchObject({ code: 'invalid_account_state' });
        const { state } = await accounts.get(id);
        expect(state).toBe(expected ?? model.state);
        const issue = keys.issue(id, { name: 'a key' }, OPERATOR);
        if (state === 'active')
          await expect(issue).resolves.toMatchObject({ key: { state: 'active' } });
        else await expect(issue).rejects.toBeInstanceOf(Fault);
      }
      for await (const verdict of audit.verify(id)) expect(verdict.fault).toBeNull();
    });
  });

  it('draws the same arrows as the machine', async () => {
    const { rows } = await pool.query<{ from_state: string; to_state: string }>(
      'select from_state, to_state from account_transition',
    );
    const inDatabase = rows.map((row) => `${row.from_state} → ${row.to_state}`).toSorted();
    expect(inDatabase).toEqual(accountArrows());
  });

  it('refuses SQL that inserts an account past onboarding, skips a gate, or gives such an account a key', async () => {
    await expect(
      pool.query(
        `insert into account (id, name, state, plan, billing_name, billing_email, technical_name,
           technical_email, created_at, state_changed_at)
         values ('org_x', 'x', 'active', 'audit', 'x', 'x', 'x', 'x', now(), now())`,
      ),
    ).rejects.toThrow('an account starts in onboarding');
    const { id } = await accounts.create(newAccount(), OPERATOR);
    const set = (state: string) =>
      pool.query('update account set state = $2 where id = $1', [id, state]);
    await expect(set('active')).rejects.toThrow('cannot go from onboarding to active');
    await expect(set('declared')).rejects.toThrow('no declaration is on record');
    await accounts.declare(id, declaration(), OPERATOR);
    await expect(set('screened')).rejects.toThrow('no screening is on record');
    await vettings.record(id, vetting({ outcome: 'flagged', reasons: [reason('industry')] }));
    await expect(set('approved')).rejects.toThrow('no review has approved');
    await decideNow(registries, id, 'approved');
    await expect(set('contracted')).rejects.toThrow('no contract is on record');
    await expect(
      pool.query(
        `insert into api_key (id, org_id, name, hash, head, tail, scopes, lineage_id, created_at)
         values ('key_x', $1, 'x', decode(repeat('00', 32), 'hex'), 'dkt_xxxx', 'xxxx', '{inference:read}', 'key_x', now())`,
        [id],
      ),
    ).rejects.toThrow('keys are issued to active accounts only');
  });

  it('serialises acts that race: of twenty suspensions one succeeds', async () => {
    const { id } = await activeAccount(registries);
    const results = await Promise.all(Array.from({ length: 20 }, () => run('suspend', id)));
    expect(results.filter((result) => !(result instanceof Fault))).toHaveLength(1);
    const page = await audit.list({
      orgId: id,
      limit: 100,
      order: 'asc',
      action: 'account.suspended',
    });
    expect(page.items).toHaveLength(1);
  });
});

describe('what an account may do', () => {
  it('limits are negotiated on enterprise only, and go with the plan [limits.enterprise]', async () => {
    const { id } = await activeAccount(registries, 'enterprise');
    const limits = { requestsPerSecond: 5, burst: 9, requestsPerDay: 100, concurrentStreams: 2 };
    expect((await accounts.setLimits(id, limits, OPERATOR)).negotiatedLimits).toEqual(limits);
    await accounts.setPlan(id, 'audit', OPERATOR);
    await expect(accounts.setLimits(id, limits, OPERATOR)).rejects.toMatchObject({
      code: 'invalid_plan',
    });
    await expect(
      accounts.setLimits(id, limits, { kind: 'user', id: 'usr_1' }),
    ).rejects.toBeInstanceOf(Fault);
  });

  it('reviews are decided by operators, who give a reason', async () => {
    const { id } = await accounts.create(newAccount(), OPERATOR);
    await accounts.declare(id, declaration(), OPERATOR);
    await vettings.record(id, vetting({ outcome: 'hit', reasons: [reason('list_match')] }));
    const { vettingId } = (await vettings.openReview(id))!;
    const verdict = { decision: 'approved', vettingId, actor: OPERATOR, note: 'please' } as const;
    await expect(
      vettings.decide(id, { ...verdict, actor: { kind: 'user', id: 'usr_1' } }),
    ).rejects.toMatchObject({ code: 'invalid_actor' });
    await expect(vettings.decide(id, { ...verdict, note: ' ' })).rejects.toMatchObject({
      code: 'invalid_reason',
    });
  });

  it('a review is decided on the screening that its reviewer saw, which the audit log keeps; a newer one refuses the decision', async () => {
    const { id } = await accounts.create(newAccount(), OPERATOR);
    await accounts.declare(id, declaration(), OPERATOR);
    const lists = [{ source: 'un', version: 'ab'.repeat(32) }];
    const hit = { lists, outcome: 'hit', reasons: [{ ...reason('list_match'), score: 0.97 }] };
    await vettings.record(id, vetting({ ...hit, outcome: 'hit' }));
    const seen = (await vettings.openReview(id))!.vettingId;
    await vettings.record(id, vetting({ ...hit, outcome: 'hit' }));
    const verdict = { decision: 'approved', actor: OPERATOR, note: 'another firm' } as const;
    for (const vettingId of [seen, null, 'scr_nonsense']) {
      await expect(vettings.decide(id, { ...verdict, vettingId })).rejects.toMatchObject({
        code: 'invalid_screening',
      });
    }
    expect((await accounts.get(id)).state).toBe('in_review');
    const { vettingId } = (await vettings.openReview(id))!;
    const recorded = (await vettings.vetting(id, vettingId!))!;
    await vettings.decide(id, { ...verdict, vettingId });
    await vettings.decide(id, { ...verdict, vettingId, actor: OTHER_OPERATOR });
    const { items } = await audit.list({
      orgId: id,
      limit: 1,
      order: 'desc',
      action: 'account.approved',
    });
    expect(JSON.parse(items[0]!.details)).toMatchObject({
      screening: vettingId,
      screened_at: new Date(recorded.screenedAt).toISOString(),
      outcome: 'hit',
      score: 0.97,
      lists: [`un:${'ab'.repeat(32)}`],
    });
  });

  it('a review of high risk is approved by two persons who saw the same screening, and rejected by one [accounts.four-eyes]', async () => {
    const lists = [{ source: 'un', version: 'ab'.repeat(32) }];
    const hit = vetting({ lists, outcome: 'hit', reasons: [reason('list_match')] });
    const referred = async (): Promise<string> => {
      const { id } = await accounts.create(newAccount(), OPERATOR);
      await accounts.declare(id, declaration(), OPERATOR);
      await vettings.record(id, hit);
      return id;
    };
    const id = await referred();
    const decide = async (decision: 'approved' | 'rejected', actor: Actor, of = id) => {
      const { vettingId } = (await vettings.openReview(of))!;
      return vettings.decide(of, { decision, vettingId, actor, note: 'another firm' });
    };
    // Of one person a sign-in and the user of their machine would be two.
    const ofMachine = { kind: 'operator', id: 'os:ada@laptop' } as const;
    await expect(decide('approved', ofMachine)).rejects.toMatchObject({ code: 'invalid_actor' });
    expect((await decide('approved', OPERATOR)).state).toBe('in_review');
    await expect(decide('approved', ofMachine)).rejects.toMatchObject({ code: 'invalid_actor' });
    expect((await vettings.openReview(id))!.approvals).toMatchObject([
      { by: OPERATOR.id, note: 'another firm' },
    ]);
    await expect(decide('approved', OPERATOR)).rejects.toMatchObject({ code: 'invalid_actor' });
    // What was seen is no longer what is shown: both look again.
    await vettings.record(id, hit);
    expect((await vettings.openReview(id))!).toMatchObject({ risk: 'high', approvals: [] });
    expect((await decide('approved', OTHER_OPERATOR)).state).toBe('in_review');
    expect((await decide('approved', OPERATOR)).state).toBe('approved');
    const { items } = await audit.list({ orgId: id, limit: 100, order: 'desc' });
    expect(items.filter(({ action }) => action === 'review.approved_once')).toHaveLength(2);
    const other = await referred();
    expect((await decide('rejected', OPERATOR, other)).state).toBe('rejected');
  });

  it('no account becomes active again or at first that was not screened against the current lists since the contract was recorded', async () => {
    const { id } = await accounts.create(newAccount(), OPERATOR);
    await accounts.declare(id, declaration(), OPERATOR);
    await vet(id);
    await accounts.sign(id, contract(), OPERATOR);
    const refused = { code: 'invalid_account_state', message: /docket accounts screen/ };
    const refuses = (act: Promise<unknown>) =>
      expect(act).rejects.toMatchObject({
        ...refused,
        message: expect.stringMatching(refused.message) as string,
      });
    await refuses(accounts.activate(id, OPERATOR));
    await expect(
      database.pool.query(`update account set state = 'active' where id = $1`, [id]),
    ).rejects.toThrow('not screened against the current lists');
    await vet(id);
    // A list becomes current, and its sweep has not come yet.
    const { rows } = await database.pool.query<{ id: string }>(
      `insert into sanctions_list (source, version, file_name, imported_at, imported_by, current, entities, names)
       values ('un', repeat('c', 64), 'f', now(), 'ada', true, 0, 0) returning id`,
    );
    await refuses(accounts.activate(id, OPERATOR));
    await vet(id);
    await accounts.activate(id, OPERATOR);
    await accounts.suspend(id, OPERATOR, 'because');
    await database.pool.query('update sanctions_list set current = false where id = $1', [
      rows[0]!.id,
    ]);
    await refuses(accounts.reinstate(id, OPERATOR, 'because'));
    await vet(id);
    await accounts.reinstate(id, OPERATOR, 'because');
    expect(await vettings.due(100)).not.toContain(id);
  });

  it('a closed account has no active key, and each revocation is in its log', async () => {
    const { id } = await activeAccount(registries);
    const issued = await keys.issue(id, { name: 'a' }, OPERATOR);
    await keys.issue(id, { name: 'b' }, OPERATOR);
    await accounts.close(id, OPERATOR, 'contract ended');
    expect((await keys.get(id, issued.key.id)).state).toBe('revoked');
    const revoked = await audit.list({
      orgId: id,
      limit: 10,
      order: 'asc',
      action: 'key.revoked',
    });
    expect(revoked.items).toHaveLength(2);
  });
});

describe('the audit log in the database', () => {
  it('refuses update, delete and truncate, even of its owner', async () => {
    await activeAccount(registries);
    for (const statement of [
      `update audit_log set reason = 'x'`,
      'delete from audit_log',
      'truncate audit_log',
      'delete from audit_head',
      'truncate audit_head',
    ]) {
      await expect(database.pool.query(statement)).rejects.toThrow('append-only');
    }
  });

  it('refuses an entry that does not continue its chain', async () => {
    const { id } = await activeAccount(registries);
    await expect(
      database.pool.query(
        `insert into audit_log (org_id, sequence, id, at, action, actor_kind, actor_id, details,
           previous_hash, hash)
         values ($1, 99, 'aud_x', now(), 'x', 'system', 'x', '{}', decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'))`,
        [id],
      ),
    ).rejects.toThrow('does not continue the chain');
  });

  it('verification finds what a superuser has altered or cut off', async () => {
    const { id } = await activeAccount(registries);
    const other = await activeAccount(registries);
    const verdict = async () => {
      for await (const found of audit.verify(id)) return found.fault;
      return undefined;
    };
    expect(await verdict()).toBeNull();
    await database.pool.query('alter table audit_log disable trigger user');
    try {
      await database.pool.query(
        `update audit_log set actor_id = 'eve' where org_id = $1 and sequence = 2`,
        [id],
      );
      expect(await verdict()).toEqual({ sequence: 2, problem: 'altered' });
      await database.pool.query(`delete from audit_log where org_id = $1 and sequence >= 2`, [id]);
      expect(await verdict()).toEqual({ sequence: 2, problem: 'truncated' });
    } finally {
      await database.pool.query('alter table audit_log enable trigger user');
    }
    for await (const found of audit.verify(other.id)) expect(found.fault).toBeNull();
  });
});
