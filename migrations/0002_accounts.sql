-- Organisations, their way through onboarding, their API keys, and the audit log.
-- The rules of the state machines stand here a second time, as triggers: code that is wrong,
-- or a person at a SQL prompt, cannot lead an account or a key past a gate.

create table account (
  id                     text primary key check (id like 'org\_%'),
  name                   text not null check (length(name) between 1 and 200),
  state                  text not null default 'onboarding' check (state in (
                           'onboarding', 'declared', 'screened', 'in_review', 'approved',
                           'contracted', 'active', 'suspended', 'rejected', 'closed')),
  plan                   text not null check (plan in ('audit', 'audit_plus', 'enterprise')),
  -- Negotiated numbers: all four or none. They count only while the plan is enterprise.
  requests_per_second    integer check (requests_per_second > 0),
  burst                  integer check (burst > 0),
  requests_per_day       bigint check (requests_per_day > 0),
  concurrent_streams     integer check (concurrent_streams > 0),
  billing_name           text not null,
  billing_email          text not null,
  technical_name         text not null,
  technical_email        text not null,
  created_at             timestamptz(3) not null,
  state_changed_at       timestamptz(3) not null,
  check (num_nulls(requests_per_second, burst, requests_per_day, concurrent_streams) in (0, 4))
);
create index account_by_state on account (state, id);

-- Article III: what the applicant stated, in which version of the text, who stated it and when.
create table declaration (
  id              bigint generated always as identity primary key,
  organisation_id text not null references account (id),
  version         text not null,
  statements      jsonb not null,
  country         text not null check (country ~ '^[A-Z]{2}$'),
  industry        text not null,
  trading_names   text[] not null default '{}',
  declared_by     text not null,
  declared_at     timestamptz(3) not null
);
create index declaration_by_organisation on declaration (organisation_id, id desc);

create table screening (
  id              text primary key check (id like 'scr\_%'),
  -- The order in which they were made: ids of one millisecond sort at random.
  sequence        bigint generated always as identity,
  organisation_id text not null references account (id),
  cause           text not null check (cause in ('onboarding', 'list_import', 'operator')),
  outcome         text not null check (outcome in ('clear', 'flagged', 'hit')),
  -- [{source, version}] of the lists that were compared: what the answer was true of.
  lists           jsonb not null,
  -- [{kind, score, text}]: why it was flagged, for the person who reviews.
  reasons         jsonb not null,
  duration_ms     integer not null,
  screened_at     timestamptz(3) not null
);
create index screening_by_organisation on screening (organisation_id, sequence desc);

create table review (
  id              text primary key check (id like 'rev\_%'),
  sequence        bigint generated always as identity,
  organisation_id text not null references account (id),
  screening_id    text references screening (id),
  reason          text not null,
  opened_at       timestamptz(3) not null,
  decision        text check (decision in ('approved', 'rejected')),
  decided_by      text,
  decided_at      timestamptz(3),
  note            text,
  check (num_nulls(decision, decided_by, decided_at, note) in (0, 4))
);
create unique index review_one_open on review (organisation_id) where decision is null;
create index review_by_organisation on review (organisation_id, sequence desc);

create table service_contract (
  id              bigint generated always as identity primary key,
  organisation_id text not null references account (id),
  kind            text not null check (kind in ('pilot', 'service')),
  document_sha256 bytea not null check (length(document_sha256) = 32),
  signatory       text not null,
  signed_at       timestamptz(3) not null,
  recorded_by     text not null,
  recorded_at     timestamptz(3) not null
);
create index service_contract_by_organisation on service_contract (organisation_id, id desc);

-- The arrows of the account's state machine; `shared/domain/accounts/machine.ts` draws the same ones, a test compares.
create table account_transition (
  from_state text not null,
  to_state   text not null,
  primary key (from_state, to_state)
);
insert into account_transition (from_state, to_state) values
  ('onboarding', 'declared'), ('declared', 'screened'),
  ('screened', 'approved'), ('screened', 'in_review'),
  ('in_review', 'approved'), ('in_review', 'rejected'),
  ('approved', 'contracted'), ('approved', 'in_review'),
  ('contracted', 'active'), ('contracted', 'in_review'),
  ('active', 'suspended'), ('suspended', 'active'),
  ('onboarding', 'closed'), ('declared', 'closed'), ('screened', 'closed'), ('in_review', 'closed'),
  ('approved', 'closed'), ('contracted', 'closed'), ('active', 'closed'), ('suspended', 'closed');

-- Guarantees: only the drawn arrows are taken, and each gate needs its evidence to be on record.
create function account_check_state() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'onboarding' then
      raise exception 'an account starts in onboarding, not in %', new.state using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if new.state = old.state then
    return new;
  end if;
  if not exists (select from account_transition t where t.from_state = old.state and t.to_state = new.state) then
    raise exception 'an account cannot go from % to %', old.state, new.state using errcode = 'check_violation';
  end if;
  if new.state = 'declared' and not exists (select from declaration d where d.organisation_id = new.id) then
    raise exception 'no declaration is on record' using errcode = 'check_violation';
  end if;
  if new.state = 'screened' and not exists (select from screening s where s.organisation_id = new.id) then
    raise exception 'no screening is on record' using errcode = 'check_violation';
  end if;
  if new.state = 'approved' and old.state = 'screened' and coalesce((
    select s.outcome from screening s where s.organisation_id = new.id order by s.sequence desc limit 1), '') <> 'clear' then
    raise exception 'the latest screening is not clear' using errcode = 'check_violation';
  end if;
  if new.state = 'approved' and old.state = 'in_review' and coalesce((
    select r.decision from review r where r.organisation_id = new.id order by r.sequence desc limit 1), '') <> 'approved' then
    raise exception 'no review has approved the account' using errcode = 'check_violation';
  end if;
  if new.state in ('approved', 'active') and exists (
    select from review r where r.organisation_id = new.id and r.decision is null) then
    raise exception 'a review is open' using errcode = 'check_violation';
  end if;
  if new.state = 'contracted' and not exists (select from service_contract c where c.organisation_id = new.id) then
    raise exception 'no contract is on record' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger account_check_state before insert or update of state on account
  for each row execute function account_check_state();

create table api_key (
  id                  text primary key check (id like 'key\_%'),
  organisation_id     text not null references account (id),
  name                text not null check (length(name) between 1 and 100),
  hash                bytea not null check (length(hash) = 32),
  head                text not null check (length(head) = 8),
  tail                text not null check (length(tail) = 4),
  state               text not null default 'active' check (state in ('active', 'revoked', 'expired')),
  scopes              text[] not null check (cardinality(scopes) > 0),
  requests_per_second integer check (requests_per_second > 0),
  burst               integer check (burst > 0),
  lineage_id          text not null,
  -- No foreign key: the predecessor's record is deleted 90 days after its revocation, the story stays.
  predecessor_id      text,
  created_at          timestamptz(3) not null,
  expires_at          timestamptz(3),
  revoked_at          timestamptz(3),
  last_used_at        timestamptz(3),
  check ((state = 'revoked') = (revoked_at is not null)),
  check (num_nulls(requests_per_second, burst) in (0, 2))
) with (fillfactor = 80); -- room for `last_used_at` to be updated in place, without touching an index
create unique index api_key_by_hash on api_key (hash);
create index api_key_by_organisation on api_key (organisation_id, id);
create index api_key_expiring on api_key (expires_at) where state = 'active' and expires_at is not null;
create index api_key_purgeable on api_key (revoked_at) where state = 'revoked';

-- Guarantees: a key is born only into an active account, moves only along its machine's arrows,
-- and its record disappears only after a revocation.
create function api_key_check_state() returns trigger language plpgsql as $$
declare
  account_state text;
begin
  if tg_op = 'DELETE' then
    if old.state <> 'revoked' then
      raise exception 'only a revoked key can be deleted' using errcode = 'check_violation';
    end if;
    return old;
  end if;
  if tg_op = 'INSERT' then
    select a.state into account_state from account a where a.id = new.organisation_id for share;
    if account_state is distinct from 'active' then
      raise exception 'keys are issued to active accounts only' using errcode = 'check_violation';
    end if;
    if new.state <> 'active' then
      raise exception 'a key starts active' using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if new.state <> old.state and (old.state, new.state) not in (
    ('active', 'revoked'), ('active', 'expired'), ('revoked', 'active')) then
    raise exception 'a key cannot go from % to %', old.state, new.state using errcode = 'check_violation';
  end if;
  if (new.id, new.organisation_id, new.hash, new.lineage_id) is distinct from
     (old.id, old.organisation_id, old.hash, old.lineage_id) then
    raise exception 'what identifies a key never changes' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger api_key_check_state before insert or delete
  or update of id, organisation_id, hash, lineage_id, state on api_key
  for each row execute function api_key_check_state();

-- Every process that holds keys in memory listens on this channel. The notice names what changed,
-- never what it changed to: the listener reads that itself. `at` lets it measure the delay.
create function announce_key() returns trigger language plpgsql as $$
declare
  changed api_key := coalesce(new, old);
begin
  perform pg_notify('docket_credentials', json_build_object(
    'hash', encode(changed.hash, 'hex'),
    'at', floor(extract(epoch from clock_timestamp()) * 1000))::text);
  return null;
end $$;
create trigger api_key_announce after insert or delete
  or update of state, scopes, expires_at, requests_per_second, burst on api_key
  for each row execute function announce_key();

create function announce_account() returns trigger language plpgsql as $$
begin
  perform pg_notify('docket_credentials', json_build_object(
    'organisation', new.id,
    'at', floor(extract(epoch from clock_timestamp()) * 1000))::text);
  return null;
end $$;
create trigger account_announce after update
  of state, plan, requests_per_second, burst, requests_per_day, concurrent_streams on account
  for each row execute function announce_account();

-- One hash chain per organisation (and one, `service`, for acts that concern all). The head is kept
-- apart, so that entries cut off at the end are missed.
create table audit_head (
  organisation_id text primary key,
  size            bigint not null,
  hash            bytea not null check (length(hash) = 32)
);

create table audit_log (
  organisation_id text not null,
  sequence        bigint not null check (sequence >= 0),
  id              text not null unique check (id like 'aud\_%'),
  at              timestamptz(3) not null,
  action          text not null,
  actor_kind      text not null check (actor_kind in ('user', 'key', 'operator', 'support', 'system')),
  actor_id        text not null,
  address         text,
  subject         text,
  reason          text,
  -- Text, not jsonb: the chain's hash covers exactly these characters.
  details         text not null,
  previous_hash   bytea not null check (length(previous_hash) = 32),
  hash            bytea not null check (length(hash) = 32),
  primary key (organisation_id, sequence)
);
create index audit_log_by_action on audit_log (organisation_id, action, sequence);
create index audit_log_by_actor on audit_log (organisation_id, actor_id, sequence);

-- Guarantees: an entry continues its chain, whoever writes it, and the head moves with it.
-- The head's row lock makes writers of one organisation take turns.
create function audit_log_link() returns trigger language plpgsql as $$
declare
  head audit_head;
begin
  select h.* into head from audit_head h where h.organisation_id = new.organisation_id for update;
  if not found or head.size <> new.sequence or head.hash <> new.previous_hash then
    raise exception 'the entry does not continue the chain' using errcode = 'check_violation';
  end if;
  update audit_head set size = new.sequence + 1, hash = new.hash where organisation_id = new.organisation_id;
  return new;
end $$;
create trigger audit_log_link before insert on audit_log
  for each row execute function audit_log_link();

create function audit_log_refuse() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_no_change before update or delete on audit_log
  for each row execute function audit_log_refuse();
create trigger audit_log_no_truncate before truncate on audit_log
  for each statement execute function audit_log_refuse();
create trigger audit_head_no_removal before delete on audit_head
  for each row execute function audit_log_refuse();
create trigger audit_head_no_truncate before truncate on audit_head
  for each statement execute function audit_log_refuse();

-- Grants: each role only what it does.
grant select on account, api_key, declaration, screening, review, service_contract, account_transition,
  audit_log, audit_head to docket_api, docket_operator, docket_housekeeping, docket_purge;
-- The dashboard, where operators decide reviews, is part of the api processes.
grant insert, update on account to docket_api, docket_operator, docket_housekeeping;
grant insert on declaration, service_contract to docket_api, docket_operator;
grant insert on screening to docket_api, docket_operator, docket_housekeeping;
grant insert, update on review to docket_api, docket_operator, docket_housekeeping;
grant insert on api_key to docket_api, docket_operator;
grant update (state, revoked_at, last_used_at) on api_key to docket_api, docket_operator, docket_housekeeping;
grant delete on api_key to docket_purge;
-- Locking a row before deleting it needs the right to update some column of it.
grant update (last_used_at) on api_key to docket_purge;
grant insert on audit_log to docket_api, docket_operator, docket_housekeeping, docket_purge, docket_exports,
  docket_recalculation;
grant select on audit_log to docket_exports, docket_recalculation;
grant select, insert, update on audit_head to docket_api, docket_operator, docket_housekeeping, docket_purge,
  docket_exports, docket_recalculation;
