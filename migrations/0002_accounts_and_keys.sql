-- Organisations, their way through onboarding, and their API keys.
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
  -- How reports name an organisation beside its name: a LEI, a number in a register.
  identifier             text check (length(identifier) between 1 and 200),
  -- Where its requests may go and to which models, as its members set it: regions by code and models by id; null for every
  -- one that is offered, also later on.
  allowed_regions        text[] check (cardinality(allowed_regions) between 1 and 1000),
  allowed_models         text[] check (cardinality(allowed_models) between 1 and 1000),
  -- Rises with each change of a name: names are compared with sanctions lists, so a change makes another vetting due.
  names_revision         integer not null default 0,
  check (num_nulls(requests_per_second, burst, requests_per_day, concurrent_streams) in (0, 4))
);
create index account_by_state on account (state, id);

create function account_names_changed() returns trigger language plpgsql as $$
begin
  new.names_revision := old.names_revision + 1;
  return new;
end $$;
create trigger account_names_changed before update of name, billing_name, technical_name on account
  for each row when (
    (new.name, new.billing_name, new.technical_name) is distinct from (old.name, old.billing_name, old.technical_name))
  execute function account_names_changed();

-- Article III: what the applicant stated, in which version of the text, who stated it and when.
create table declaration (
  id              bigint generated always as identity primary key,
  org_id          text not null references account (id),
  version         text not null,
  statements      jsonb not null,
  country         text not null check (country ~ '^[A-Z]{2}$'),
  industry        text not null,
  trading_names   text[] not null default '{}',
  declared_by     text not null,
  declared_at     timestamptz(3) not null,
  -- Those who own and run the applicant: [{role, name, country}].
  parties         jsonb not null default '[]'
);
create index declaration_by_organisation on declaration (org_id, id desc);

-- Filling in a declaration may take several days. A draft goes with the declaration, and with the account.
create table declaration_draft (
  org_id     text primary key references account (id),
  draft      jsonb not null,
  updated_at timestamptz(3) not null
);

create table service_contract (
  id              bigint generated always as identity primary key,
  org_id          text not null references account (id),
  kind            text not null check (kind in ('pilot', 'service')),
  document_sha256 bytea not null check (length(document_sha256) = 32),
  signatory       text not null,
  signed_at       timestamptz(3) not null,
  recorded_by     text not null,
  recorded_at     timestamptz(3) not null
);
create index service_contract_by_organisation on service_contract (org_id, id desc);

-- One row per imported sanctions list and version. Old versions stay, so that an old screening can be understood.
create table sanctions_list (
  id           bigint generated always as identity primary key,
  source       text not null check (source in ('ofac_sdn', 'eu', 'un', 'opensanctions')),
  -- SHA-256 of the file: the same file is the same version.
  version      text not null check (version ~ '^[0-9a-f]{64}$'),
  file_name    text not null,
  -- What the list says of itself, where it does.
  published_on text,
  entities     integer not null,
  names        integer not null,
  imported_by  text not null,
  imported_at  timestamptz(3) not null,
  current      boolean not null default false,
  unique (source, version)
);
create unique index sanctions_list_one_current on sanctions_list (source) where current;

create table sanctions_name (
  list_id   bigint not null references sanctions_list (id),
  -- Position in the file; a party may appear in it twice.
  ordinal   integer not null,
  entity_id text not null,
  name      text not null,
  kind      text not null check (kind in ('person', 'organisation', 'other')),
  weak      boolean not null,
  programme text not null,
  countries text[] not null,
  primary key (list_id, ordinal)
);

create table screening (
  id              text primary key check (id like 'scr\_%'),
  -- The order in which they were made: ids of one millisecond sort at random.
  sequence        bigint generated always as identity,
  org_id          text not null references account (id),
  cause           text not null check (cause in ('onboarding', 'list_import', 'operator')),
  outcome         text not null check (outcome in ('clear', 'flagged', 'hit')),
  -- [{source, version}] of the lists that were compared: what the answer was true of.
  lists           jsonb not null,
  -- [{kind, score, text}]: why it was flagged, for the person who reviews.
  reasons         jsonb not null,
  duration_ms     integer not null,
  screened_at     timestamptz(3) not null,
  -- What was compared: the declaration as it was corrected last, and the contract that names the signatory, where there
  -- were any; and which names of the account.
  declaration_id  bigint references declaration (id),
  contract_id     bigint references service_contract (id),
  names_revision  integer not null
);
create index screening_by_organisation on screening (org_id, sequence desc);

create table review (
  id              text primary key check (id like 'rev\_%'),
  sequence        bigint generated always as identity,
  org_id          text not null references account (id),
  screening_id    text references screening (id),
  reason          text not null,
  opened_at       timestamptz(3) not null,
  decision        text check (decision in ('approved', 'rejected')),
  decided_by      text,
  decided_at      timestamptz(3),
  note            text,
  check (num_nulls(decision, decided_by, decided_at, note) in (0, 4))
);
create unique index review_one_open on review (org_id) where decision is null;
create index review_by_organisation on review (org_id, sequence desc);

-- Approvals of reviews that two persons have to approve. The first is kept here, for the screening that was looked at; the
-- second one decides. A review that shows another screening by then asks both again.
create table review_approval (
  review_id    text not null references review (id),
  screening_id text not null references screening (id),
  approved_by  text not null,
  approved_at  timestamptz(3) not null,
  note         text not null,
  primary key (review_id, screening_id, approved_by)
);

-- The arrows of the account's state machine; `shared/accounts/machine.ts` draws the same ones, a test compares.
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
  if new.state = 'declared' and not exists (select from declaration d where d.org_id = new.id) then
    raise exception 'no declaration is on record' using errcode = 'check_violation';
  end if;
  if new.state = 'screened' and not exists (select from screening s where s.org_id = new.id) then
    raise exception 'no screening is on record' using errcode = 'check_violation';
  end if;
  if new.state = 'approved' and old.state = 'screened' and coalesce((
    select s.outcome from screening s where s.org_id = new.id order by s.sequence desc limit 1), '') <> 'clear' then
    raise exception 'the latest screening is not clear' using errcode = 'check_violation';
  end if;
  if new.state = 'approved' and old.state = 'in_review' and coalesce((
    select r.decision from review r where r.org_id = new.id order by r.sequence desc limit 1), '') <> 'approved' then
    raise exception 'no review has approved the account' using errcode = 'check_violation';
  end if;
  if new.state in ('approved', 'active') and exists (
    select from review r where r.org_id = new.id and r.decision is null) then
    raise exception 'a review is open' using errcode = 'check_violation';
  end if;
  if new.state = 'contracted' and not exists (select from service_contract c where c.org_id = new.id) then
    raise exception 'no contract is on record' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger account_check_state before insert or update of state on account
  for each row execute function account_check_state();

-- An account becomes active only when it was compared, as declaration, contract and its own names say now, with the lists
-- that are current. Which accounts have to be vetted again is asked with the same words.
create function account_vetting_is_current(account_id text) returns boolean
language sql stable set search_path = public, pg_temp as $$
  select exists (
    select from (
      select s.lists, s.declaration_id, s.contract_id, s.names_revision from screening s
      where s.org_id = account_id order by s.sequence desc limit 1) latest
    where latest.lists = (
        -- What was compared is kept with each vetting, in the form that this makes of the current lists.
        select coalesce(jsonb_agg(jsonb_build_object('source', l.source, 'version', l.version) order by l.source), '[]')
        from sanctions_list l where l.current)
      -- Not before a corrected declaration, or a contract that names a signatory.
      and not exists (
        select from declaration d where d.org_id = account_id and d.id > coalesce(latest.declaration_id, 0))
      and not exists (
        select from service_contract c where c.org_id = account_id and c.id > coalesce(latest.contract_id, 0))
      -- Nor before a change of a name.
      and not exists (
        select from account a where a.id = account_id and a.names_revision > latest.names_revision))
$$;

create function account_check_vetting() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  if not account_vetting_is_current(new.id) then
    raise exception 'the account was not screened against the current lists' using errcode = 'check_violation';
  end if;
  return new;
end $$;
-- After `account_check_state`, by its name, which says first what else is wrong.
create trigger account_check_vetting before update of state on account
  for each row when (new.state = 'active' and old.state <> 'active') execute function account_check_vetting();

create table api_key (
  id                  text primary key check (id like 'key\_%'),
  org_id              text not null references account (id),
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
  -- Whether others have a key is a flag of its own, set by a choice: a reason is free text, and may say "it was not exposed".
  leaked              boolean not null default false,
  check ((state = 'revoked') = (revoked_at is not null)),
  check (num_nulls(requests_per_second, burst) in (0, 2))
) with (fillfactor = 80); -- room for `last_used_at` to be updated in place, without touching an index
create unique index api_key_by_hash on api_key (hash);
create index api_key_by_organisation on api_key (org_id, id);
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
    select a.state into account_state from account a where a.id = new.org_id for share;
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
  if (new.id, new.org_id, new.hash, new.lineage_id) is distinct from
     (old.id, old.org_id, old.hash, old.lineage_id) then
    raise exception 'what identifies a key never changes' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger api_key_check_state before insert or delete
  or update of id, org_id, hash, lineage_id, state on api_key
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
  of state, plan, requests_per_second, burst, requests_per_day, concurrent_streams, allowed_regions, allowed_models on account
  for each row execute function announce_account();

-- Grants: each role only what it does.
grant select on account, api_key, declaration, screening, review, service_contract, account_transition
  to docket_api, docket_operator, docket_housekeeping, docket_purge;
grant select (id, name, identifier) on account to docket_exports;
-- The dashboard, where operators decide reviews, is part of the api processes.
grant insert, update on account to docket_api, docket_operator, docket_housekeeping;
grant insert on declaration, service_contract to docket_api, docket_operator;
grant select, insert, update, delete on declaration_draft to docket_api;
grant select, delete on declaration_draft to docket_operator;
grant select, insert, update on sanctions_list to docket_operator;
grant insert on sanctions_name to docket_operator;
grant select on sanctions_list, sanctions_name to docket_api, docket_operator, docket_housekeeping;
grant insert on screening to docket_api, docket_operator, docket_housekeeping;
grant insert, update on review to docket_api, docket_operator, docket_housekeeping;
grant select, insert on review_approval to docket_api, docket_operator;
grant insert on api_key to docket_api, docket_operator;
grant update (state, revoked_at, last_used_at) on api_key to docket_api, docket_operator, docket_housekeeping;
-- Keys of the plan audit do not expire: a change to it ends what was set.
grant update (expires_at, leaked) on api_key to docket_api, docket_operator;
grant delete on api_key to docket_purge;
-- Locking a row before deleting it needs the right to update some column of it.
grant update (last_used_at) on api_key to docket_purge;
