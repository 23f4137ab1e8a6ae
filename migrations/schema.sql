-- What the migrations make: written by "npm run schema:dump", never by hand, for reading only.
-- Partitions are left out: housekeeping makes them as time passes.

create table account (
  id text not null,
  name text not null,
  state text not null default 'onboarding'::text,
  plan text not null,
  requests_per_second integer,
  burst integer,
  requests_per_day bigint,
  concurrent_streams integer,
  billing_name text not null,
  billing_email text not null,
  technical_name text not null,
  technical_email text not null,
  created_at timestamp(3) with time zone not null,
  state_changed_at timestamp(3) with time zone not null,
  identifier text,
  allowed_regions text[],
  allowed_models text[],
  names_revision integer not null default 0,
  keep_responses boolean not null default true,
  tags text[] not null default '{}'::text[],
  legal_hold boolean not null default false,
  playground boolean not null default true,
  constraint account_allowed_models_check CHECK (((cardinality(allowed_models) >= 1) AND (cardinality(allowed_models) <= 1000))),
  constraint account_allowed_regions_check CHECK (((cardinality(allowed_regions) >= 1) AND (cardinality(allowed_regions) <= 1000))),
  constraint account_burst_check CHECK ((burst > 0)),
  constraint account_check CHECK ((num_nulls(requests_per_second, burst, requests_per_day, concurrent_streams) = ANY (ARRAY[0, 4]))),
  constraint account_concurrent_streams_check CHECK ((concurrent_streams > 0)),
  constraint account_id_check CHECK ((id ~~ 'org\_%'::text)),
  constraint account_identifier_check CHECK (((length(identifier) >= 1) AND (length(identifier) <= 200))),
  constraint account_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint account_pkey PRIMARY KEY (id),
  constraint account_plan_check CHECK ((plan = ANY (ARRAY['audit'::text, 'audit_plus'::text, 'enterprise'::text]))),
  constraint account_requests_per_day_check CHECK ((requests_per_day > 0)),
  constraint account_requests_per_second_check CHECK ((requests_per_second > 0)),
  constraint account_state_check CHECK ((state = ANY (ARRAY['onboarding'::text, 'declared'::text, 'screened'::text, 'in_review'::text, 'approved'::text, 'contracted'::text, 'active'::text, 'suspended'::text, 'rejected'::text, 'closed'::text]))),
  constraint account_tags_check CHECK (((cardinality(tags) <= 10) AND (array_position(tags, NULL::text) IS NULL)))
);

create table account_opening (
  person_id text not null,
  name bytea not null,
  request bytea not null,
  org_id text not null,
  constraint account_opening_name_check CHECK ((length(name) = 32)),
  constraint account_opening_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint account_opening_pkey PRIMARY KEY (person_id, name),
  constraint account_opening_request_check CHECK ((length(request) = 32))
);

create table account_transition (
  from_state text not null,
  to_state text not null,
  constraint account_transition_pkey PRIMARY KEY (from_state, to_state)
);

create table anchor_cosignature (
  size bigint not null,
  witness text not null,
  "time" timestamp(3) with time zone not null,
  line text not null,
  stored_at timestamp(3) with time zone not null default now(),
  constraint anchor_cosignature_pkey PRIMARY KEY (size, witness)
);

create table anchor_entry (
  index bigint not null,
  leaf_hash bytea not null,
  body bytea not null,
  constraint anchor_entry_body_check CHECK (((length(body) >= 1) AND (length(body) <= 65535))),
  constraint anchor_entry_index_check CHECK ((index >= 0)),
  constraint anchor_entry_leaf_hash_check CHECK ((length(leaf_hash) = 32)),
  constraint anchor_entry_pkey PRIMARY KEY (index)
);

create table anchor_epoch (
  index bigint not null,
  secret bytea not null,
  at timestamp(3) with time zone not null,
  constraint anchor_epoch_pkey PRIMARY KEY (index),
  constraint anchor_epoch_secret_check CHECK ((length(secret) = 32))
);

create table anchor_head (
  org_id text not null,
  index bigint not null,
  size bigint not null,
  constraint anchor_head_pkey PRIMARY KEY (org_id, index),
  constraint anchor_head_size_check CHECK ((size > 0))
);

create table anchor_pending (
  id bigint not null generated always as identity,
  key_id text not null,
  purpose text not null,
  from_index bigint,
  requested_at timestamp(3) with time zone not null default now(),
  constraint anchor_pending_from_index_check CHECK ((from_index >= 0)),
  constraint anchor_pending_pkey PRIMARY KEY (id)
);

create table anchor_slot (
  org_id text not null,
  slot integer not null,
  assigned_at timestamp(3) with time zone not null default now(),
  constraint anchor_slot_pkey PRIMARY KEY (org_id),
  constraint anchor_slot_slot_check CHECK (((slot >= 0) AND (slot <= 1048575))),
  constraint anchor_slot_slot_key UNIQUE (slot)
);

create table anchor_source (
  source text not null,
  next_at timestamp(3) with time zone not null default now(),
  failures integer not null default 0,
  last_error text,
  constraint anchor_source_pkey PRIMARY KEY (source)
);

create table anchor_timestamp (
  size bigint not null,
  authority text not null,
  "time" timestamp(3) with time zone not null,
  response bytea not null,
  stored_at timestamp(3) with time zone not null default now(),
  constraint anchor_timestamp_pkey PRIMARY KEY (size, authority),
  constraint anchor_timestamp_response_check CHECK (((length(response) >= 1) AND (length(response) <= 131072)))
);

create table api_key (
  id text not null,
  org_id text not null,
  name text not null,
  hash bytea not null,
  head text not null,
  tail text not null,
  state text not null default 'active'::text,
  scopes text[] not null,
  requests_per_second integer,
  burst integer,
  lineage_id text not null,
  predecessor_id text,
  created_at timestamp(3) with time zone not null,
  expires_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  leaked boolean not null default false,
  playground_of text,
  constraint api_key_burst_check CHECK ((burst > 0)),
  constraint api_key_check CHECK (((state = 'revoked'::text) = (revoked_at IS NOT NULL))),
  constraint api_key_check1 CHECK ((num_nulls(requests_per_second, burst) = ANY (ARRAY[0, 2]))),
  constraint api_key_hash_check CHECK ((length(hash) = 32)),
  constraint api_key_head_check CHECK ((length(head) = 8)),
  constraint api_key_id_check CHECK ((id ~~ 'key\_%'::text)),
  constraint api_key_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint api_key_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint api_key_pkey PRIMARY KEY (id),
  constraint api_key_playground_of_check CHECK ((playground_of ~~ 'usr\_%'::text)),
  constraint api_key_requests_per_second_check CHECK ((requests_per_second > 0)),
  constraint api_key_scopes_check CHECK ((cardinality(scopes) > 0)),
  constraint api_key_state_check CHECK ((state = ANY (ARRAY['active'::text, 'revoked'::text, 'expired'::text]))),
  constraint api_key_tail_check CHECK ((length(tail) = 4))
) with (fillfactor=80);

create table audit_checkpoint (
  log_id text not null,
  size bigint not null,
  hash bytea not null,
  note text not null,
  signed_at timestamp(3) with time zone not null default now(),
  constraint audit_checkpoint_hash_check CHECK ((length(hash) = 32)),
  constraint audit_checkpoint_log_id_check CHECK ((log_id ~~ 'audit/%'::text)),
  constraint audit_checkpoint_pkey PRIMARY KEY (log_id, size),
  constraint audit_checkpoint_size_check CHECK ((size > 0))
);

create table audit_head (
  org_id text not null,
  size bigint not null,
  hash bytea not null,
  constraint audit_head_hash_check CHECK ((length(hash) = 32)),
  constraint audit_head_pkey PRIMARY KEY (org_id)
);

create table audit_log (
  org_id text not null,
  sequence bigint not null,
  id text not null,
  at timestamp(3) with time zone not null,
  action text not null,
  actor_kind text not null,
  actor_id text not null,
  address text,
  subject text,
  reason text,
  details text not null,
  previous_hash bytea not null,
  hash bytea not null,
  constraint audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['user'::text, 'key'::text, 'operator'::text, 'system'::text]))),
  constraint audit_log_hash_check CHECK ((length(hash) = 32)),
  constraint audit_log_id_check CHECK ((id ~~ 'aud\_%'::text)),
  constraint audit_log_id_key UNIQUE (id),
  constraint audit_log_pkey PRIMARY KEY (org_id, sequence),
  constraint audit_log_previous_hash_check CHECK ((length(previous_hash) = 32)),
  constraint audit_log_sequence_check CHECK ((sequence >= 0))
);

create table budget (
  id text not null,
  org_id text not null,
  name text not null,
  scope text not null,
  target text,
  measure text not null,
  period text not null,
  limit_amount numeric not null,
  mode text not null,
  shares smallint[] not null,
  created_at timestamp(3) with time zone not null,
  constraint budget_check CHECK (((scope = 'organisation'::text) = (target IS NULL))),
  constraint budget_id_check CHECK ((id ~~ 'bgt\_%'::text)),
  constraint budget_limit_amount_check CHECK ((limit_amount > (0)::numeric)),
  constraint budget_measure_check CHECK ((measure = ANY (ARRAY['requests'::text, 'tokens'::text, 'energy'::text, 'gwp'::text, 'money'::text]))),
  constraint budget_mode_check CHECK ((mode = ANY (ARRAY['soft'::text, 'hard'::text]))),
  constraint budget_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint budget_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint budget_period_check CHECK ((period = ANY (ARRAY['day'::text, 'month'::text]))),
  constraint budget_pkey PRIMARY KEY (id),
  constraint budget_scope_check CHECK ((scope = ANY (ARRAY['organisation'::text, 'key'::text, 'model'::text, 'tag'::text]))),
  constraint budget_shares_check CHECK (((cardinality(shares) <= 5) AND (1 <= ALL (shares)) AND (100 >= ALL (shares)))),
  constraint budget_target_check CHECK (((length(target) >= 1) AND (length(target) <= 300)))
);

create table budget_told (
  budget_id text not null,
  period_start timestamp(3) with time zone not null,
  share smallint not null,
  told_at timestamp(3) with time zone not null,
  letters smallint not null,
  constraint budget_told_budget_id_fkey FOREIGN KEY (budget_id) REFERENCES budget(id) ON DELETE CASCADE,
  constraint budget_told_letters_check CHECK ((letters >= 0)),
  constraint budget_told_pkey PRIMARY KEY (budget_id, period_start, share)
);

create table contact_address (
  org_id text not null,
  email text not null,
  token_hash bytea,
  asked_at timestamp(3) with time zone not null,
  confirmed_at timestamp(3) with time zone,
  constraint contact_address_email_check CHECK ((email = lower(email))),
  constraint contact_address_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint contact_address_pkey PRIMARY KEY (org_id, email),
  constraint contact_address_token_hash_check CHECK ((length(token_hash) = 32)),
  constraint contact_address_token_hash_key UNIQUE (token_hash)
);

create table currency (
  code text not null,
  one boolean not null default true,
  constraint currency_code_check CHECK ((code ~ '^[A-Z]{3}$'::text)),
  constraint currency_one_check CHECK (one),
  constraint currency_one_key UNIQUE (one),
  constraint currency_pkey PRIMARY KEY (code)
);

create table declaration (
  id bigint not null generated always as identity,
  org_id text not null,
  version text not null,
  statements jsonb not null,
  country text not null,
  industry text not null,
  trading_names text[] not null default '{}'::text[],
  declared_by text not null,
  declared_at timestamp(3) with time zone not null,
  parties jsonb not null default '[]'::jsonb,
  constraint declaration_country_check CHECK ((country ~ '^[A-Z]{2}$'::text)),
  constraint declaration_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint declaration_pkey PRIMARY KEY (id)
);

create table declaration_draft (
  org_id text not null,
  draft jsonb not null,
  updated_at timestamp(3) with time zone not null,
  constraint declaration_draft_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint declaration_draft_pkey PRIMARY KEY (org_id)
);

create table derivation (
  digest text not null,
  body bytea not null,
  constraint derivation_body_check CHECK (((length(body) >= 2) AND (length(body) <= 65535))),
  constraint derivation_check CHECK ((digest = ('u'::text || rtrim(translate(encode(('\x1220'::bytea || sha256(body)), 'base64'::text), '+/'::text, '-_'::text), '='::text)))),
  constraint derivation_pkey PRIMARY KEY (digest)
);

create table event (
  id text not null,
  org_id text not null,
  type text not null,
  data jsonb not null,
  once text,
  at timestamp(3) with time zone not null,
  constraint event_data_check CHECK ((length((data)::text) <= 20000)),
  constraint event_id_check CHECK ((id ~~ 'evt\_%'::text)),
  constraint event_org_id_once_key UNIQUE (org_id, once),
  constraint event_pkey PRIMARY KEY (id),
  constraint event_type_check CHECK ((length(type) <= 100))
);

create table export (
  id text not null,
  org_id text not null,
  status text not null default 'queued'::text,
  first_index bigint not null,
  last_index bigint not null,
  checkpoint_size bigint not null,
  generation integer not null default 1,
  done bigint not null default 0,
  run_id text,
  run_at timestamp(3) with time zone,
  runs integer not null default 0,
  not_before timestamp(3) with time zone,
  is_attested boolean,
  size_bytes bigint,
  sha256 text,
  error_code text,
  error_message text,
  created_at timestamp(3) with time zone not null default now(),
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  expires_at timestamp(3) with time zone,
  deleted_at timestamp(3) with time zone,
  removed_at timestamp(3) with time zone,
  period_from timestamp(3) with time zone,
  period_to timestamp(3) with time zone,
  constraint export_check CHECK ((((first_index >= 0) AND (first_index <= last_index)) AND (last_index < checkpoint_size))),
  constraint export_check1 CHECK (((status = 'running'::text) = (run_id IS NOT NULL))),
  constraint export_check2 CHECK (((status <> 'ready'::text) OR (num_nulls(size_bytes, sha256, expires_at) = 0))),
  constraint export_check3 CHECK (((status = 'failed'::text) = (error_code IS NOT NULL))),
  constraint export_pkey PRIMARY KEY (id),
  constraint export_sha256_check CHECK ((length(sha256) = 64)),
  constraint export_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'ready'::text, 'failed'::text, 'expired'::text])))
);

create table export_anchor (
  org_id text not null,
  checkpoint_size bigint not null,
  anchor_size bigint not null,
  constraint export_anchor_anchor_size_check CHECK ((anchor_size >= 0)),
  constraint export_anchor_pkey PRIMARY KEY (org_id, checkpoint_size)
);

create table grid_day_open (
  day date not null,
  zone text not null,
  constraint grid_day_open_pkey PRIMARY KEY (day, zone)
);

create table grid_hour (
  zone text not null,
  hour timestamp with time zone not null,
  version text not null,
  provider text not null,
  signal text not null,
  gwp double precision not null,
  imported_at timestamp with time zone not null default now(),
  constraint grid_hour_gwp_check CHECK (((gwp >= (0)::double precision) AND (gwp <= (5)::double precision))),
  constraint grid_hour_hour_check CHECK ((hour = date_trunc('hour'::text, hour, 'UTC'::text))),
  constraint grid_hour_pkey PRIMARY KEY (zone, hour, version)
);

create table grid_hour_due (
  zone text not null,
  hour timestamp with time zone not null,
  due_from timestamp(3) with time zone not null default now(),
  constraint grid_hour_due_pkey PRIMARY KEY (zone, hour)
);

create table incident (
  id text not null,
  title text not null,
  components text[] not null,
  began_at timestamp(3) with time zone not null,
  ended_at timestamp(3) with time zone,
  constraint incident_check CHECK ((ended_at >= began_at)),
  constraint incident_components_check CHECK ((cardinality(components) <= 50)),
  constraint incident_id_check CHECK ((length(id) = 30)),
  constraint incident_pkey PRIMARY KEY (id),
  constraint incident_title_check CHECK (((length(title) >= 1) AND (length(title) <= 120)))
);

create table incident_word (
  incident_id text not null,
  at timestamp(3) with time zone not null,
  text text not null,
  constraint incident_word_incident_id_fkey FOREIGN KEY (incident_id) REFERENCES incident(id),
  constraint incident_word_pkey PRIMARY KEY (incident_id, at),
  constraint incident_word_text_check CHECK (((length(text) >= 1) AND (length(text) <= 2000)))
);

create table kept_response (
  org_id text not null,
  id text not null,
  previous text,
  sealed bytea not null,
  bytes integer not null generated always as (octet_length(sealed)) stored,
  items text[],
  expires_at timestamp(3) with time zone not null,
  constraint kept_response_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint kept_response_pkey PRIMARY KEY (org_id, id)
);

create table ledger_archive (
  org_id text not null,
  first_id text not null,
  last_id text not null,
  receipts integer not null,
  object text not null,
  bytes bigint not null,
  archived_at timestamp(3) with time zone not null default now(),
  removed_at timestamp(3) with time zone,
  dropped_at timestamp(3) with time zone,
  constraint ledger_archive_bytes_check CHECK ((bytes > 0)),
  constraint ledger_archive_check CHECK ((last_id >= first_id)),
  constraint ledger_archive_object_check CHECK ((object ~ '^[0-9a-f]{64}$'::text)),
  constraint ledger_archive_pkey PRIMARY KEY (org_id, first_id),
  constraint ledger_archive_receipts_check CHECK ((receipts > 0))
);

create table ledger_archive_block (
  org_id text not null,
  first_id text not null,
  last_id text not null,
  receipts integer not null,
  object text not null,
  start bigint not null,
  bytes integer not null,
  constraint ledger_archive_block_bytes_check CHECK ((bytes > 0)),
  constraint ledger_archive_block_check CHECK ((last_id >= first_id)),
  constraint ledger_archive_block_pkey PRIMARY KEY (org_id, first_id),
  constraint ledger_archive_block_receipts_check CHECK ((receipts > 0)),
  constraint ledger_archive_block_start_check CHECK ((start >= 0))
);

create table ledger_body (
  entry_id text not null,
  org_id text not null,
  kind text not null,
  supersedes text,
  key_id text,
  model text,
  region text,
  tier text,
  route text,
  outcome text,
  issued_at timestamp(3) with time zone not null,
  input_tokens bigint,
  cached_input_tokens bigint,
  output_tokens bigint,
  energy_kwh double precision,
  gwp_kgco2e double precision,
  water_l double precision,
  adpe_kgsbe double precision,
  adpf_mj double precision,
  leaf_hash bytea not null,
  body bytea,
  refusal_rule text,
  bounds double precision[],
  data_quality text,
  tags text[],
  cost numeric,
  constraint ledger_body_body_check CHECK (((length(body) >= 1) AND (length(body) <= 65535))),
  constraint ledger_body_entry_id_check CHECK ((length(entry_id) = 31)),
  constraint ledger_body_kind_check CHECK ((kind = ANY (ARRAY['inference'::text, 'degraded'::text, 'failed'::text, 'refused'::text, 'recalculated'::text, 'restated'::text]))),
  constraint ledger_body_leaf_hash_check CHECK ((length(leaf_hash) = 32)),
  constraint ledger_body_model_check CHECK ((length(model) <= 300)),
  constraint ledger_body_pkey PRIMARY KEY (entry_id)
) partition by RANGE (entry_id);

create table ledger_checkpoint (
  org_id text not null,
  size bigint not null,
  root bytea not null,
  note text not null,
  signed_at timestamp(3) with time zone not null,
  cose_protected bytea,
  cose_signature bytea,
  constraint ledger_checkpoint_check CHECK (((cose_protected IS NULL) = (cose_signature IS NULL))),
  constraint ledger_checkpoint_cose_signature_check CHECK ((length(cose_signature) = 64)),
  constraint ledger_checkpoint_pkey PRIMARY KEY (org_id, size),
  constraint ledger_checkpoint_root_check CHECK ((length(root) = 32)),
  constraint ledger_checkpoint_size_check CHECK ((size >= 0))
);

create table ledger_entry (
  org_id text not null,
  index bigint not null,
  entry_id text not null,
  kind text not null,
  leaf_hash bytea not null,
  supersedes text,
  integrated_at timestamp(3) with time zone not null,
  constraint ledger_entry_entry_id_key UNIQUE (entry_id),
  constraint ledger_entry_index_check CHECK ((index >= 0)),
  constraint ledger_entry_leaf_hash_check CHECK ((length(leaf_hash) = 32)),
  constraint ledger_entry_pkey PRIMARY KEY (org_id, index)
) with (autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=10000, autovacuum_freeze_min_age=0);

create table ledger_head (
  org_id text not null,
  size bigint not null,
  root bytea not null,
  frontier bytea not null,
  integrated_at timestamp(3) with time zone not null,
  checkpoint_size bigint not null default 0,
  checkpoint_at timestamp(3) with time zone,
  halted_at timestamp(3) with time zone,
  halt_reason text,
  usage_size bigint not null default 0,
  constraint ledger_head_check CHECK (((checkpoint_size >= 0) AND (checkpoint_size <= size))),
  constraint ledger_head_check1 CHECK ((num_nulls(halted_at, halt_reason) = ANY (ARRAY[0, 2]))),
  constraint ledger_head_pkey PRIMARY KEY (org_id),
  constraint ledger_head_root_check CHECK ((length(root) = 32)),
  constraint ledger_head_size_check CHECK ((size >= 0)),
  constraint ledger_head_usage_size_check CHECK ((usage_size >= 0))
) with (fillfactor=50);

create table ledger_loss (
  log_id text not null,
  generation integer not null,
  kept_size bigint not null,
  note text not null,
  declared_at timestamp(3) with time zone not null default now(),
  constraint ledger_loss_generation_check CHECK (((generation >= 2) AND (generation <= 999999))),
  constraint ledger_loss_kept_size_check CHECK ((kept_size >= 0)),
  constraint ledger_loss_pkey PRIMARY KEY (log_id, generation)
);

create table ledger_quarantine (
  entry_id text not null,
  org_id text not null,
  kind text not null,
  supersedes text,
  leaf_hash bytea not null,
  submitted_at timestamp(3) with time zone not null,
  quarantined_at timestamp(3) with time zone not null default now(),
  reason text not null,
  detail text,
  constraint ledger_quarantine_pkey PRIMARY KEY (entry_id)
);

create table ledger_retention (
  first_id text not null,
  end_id text not null,
  dropped_at timestamp(3) with time zone not null default now(),
  constraint ledger_retention_check CHECK ((first_id < end_id)),
  constraint ledger_retention_pkey PRIMARY KEY (first_id)
);

create table ledger_rewrite (
  partition text not null,
  copied_to text not null default ''::text,
  constraint ledger_rewrite_pkey PRIMARY KEY (partition)
);

create table ledger_tile (
  org_id text not null,
  level smallint not null,
  index bigint not null,
  root bytea not null,
  hashes bytea not null,
  constraint ledger_tile_hashes_check CHECK ((length(hashes) = 8192)),
  constraint ledger_tile_index_check CHECK ((index >= 0)),
  constraint ledger_tile_level_check CHECK (((level >= 0) AND (level <= 6))),
  constraint ledger_tile_pkey PRIMARY KEY (org_id, level, index),
  constraint ledger_tile_root_check CHECK ((length(root) = 32))
);

create table mail_outbox (
  id bigint not null generated always as identity,
  org_id text,
  recipient text not null,
  subject text not null,
  body text not null,
  once text,
  created_at timestamp(3) with time zone not null,
  attempts integer not null default 0,
  next_attempt_at timestamp(3) with time zone not null,
  sent_at timestamp(3) with time zone,
  failed_at timestamp(3) with time zone,
  failure text,
  refused boolean not null default false,
  link_path text,
  constraint mail_outbox_failure_check CHECK ((length(failure) <= 500)),
  constraint mail_outbox_once_key UNIQUE (once),
  constraint mail_outbox_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint mail_outbox_pkey PRIMARY KEY (id)
);

create table meter_reading (
  endpoint text not null,
  read_at timestamp(3) with time zone not null,
  accelerators jsonb not null,
  constraint meter_reading_pkey PRIMARY KEY (endpoint, read_at)
);

create table metered_record (
  digest text not null,
  endpoint text not null,
  from_at timestamp(3) with time zone not null,
  to_at timestamp(3) with time zone not null,
  energy_uj numeric,
  idle_uj numeric,
  body bytea not null,
  constraint metered_record_body_check CHECK ((length(body) >= 2)),
  constraint metered_record_check CHECK ((digest = ('u'::text || rtrim(translate(encode(('\x1220'::bytea || sha256(body)), 'base64'::text), '+/'::text, '-_'::text), '='::text)))),
  constraint metered_record_check1 CHECK ((to_at > from_at)),
  constraint metered_record_check2 CHECK ((num_nulls(energy_uj, idle_uj) = ANY (ARRAY[0, 2]))),
  constraint metered_record_check3 CHECK (((idle_uj >= (0)::numeric) AND (idle_uj <= energy_uj))),
  constraint metered_record_pkey PRIMARY KEY (digest)
);

create table metered_request (
  receipt_id text not null,
  org_id text not null,
  endpoint text not null,
  began_at timestamp(3) with time zone not null,
  ended_at timestamp(3) with time zone not null,
  weight bigint not null,
  state text not null default 'waiting'::text,
  metered_from timestamp(3) with time zone,
  energy_uj numeric not null default 0,
  revision_id text,
  constraint metered_request_check CHECK (((state = 'measured'::text) = (revision_id IS NOT NULL))),
  constraint metered_request_energy_uj_check CHECK ((energy_uj >= (0)::numeric)),
  constraint metered_request_pkey PRIMARY KEY (receipt_id),
  constraint metered_request_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'attributed'::text, 'measured'::text, 'unmeasured'::text]))),
  constraint metered_request_weight_check CHECK ((weight >= 0))
) with (fillfactor=80);

create table recalculation (
  receipt_id text not null,
  org_id text not null,
  state text not null default 'pending'::text,
  attempts integer not null default 0,
  created_at timestamp(3) with time zone not null default now(),
  due_at timestamp with time zone not null default now(),
  flagged_at timestamp(3) with time zone,
  failed_at timestamp(3) with time zone,
  stage text,
  code text,
  basis text,
  requested_by text,
  reason text,
  constraint recalculation_attempts_check CHECK ((attempts >= 0)),
  constraint recalculation_check CHECK ((num_nulls(failed_at, stage, code, basis) = ANY (ARRAY[0, 4]))),
  constraint recalculation_pkey PRIMARY KEY (receipt_id),
  constraint recalculation_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'parked'::text])))
) with (fillfactor=70);

create table receipt_pending (
  entry_id text not null,
  org_id text not null,
  kind text not null,
  supersedes text,
  leaf_hash bytea not null,
  submitted_at timestamp(3) with time zone not null default now(),
  constraint receipt_pending_leaf_hash_check CHECK ((length(leaf_hash) = 32)),
  constraint receipt_pending_pkey PRIMARY KEY (entry_id)
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=20000, autovacuum_vacuum_cost_delay=0);

create table receipt_revision (
  original_id text not null,
  revision_id text not null,
  org_id text not null,
  created_at timestamp(3) with time zone not null default now(),
  first_id text not null,
  constraint receipt_revision_check CHECK ((original_id <> revision_id)),
  constraint receipt_revision_pkey PRIMARY KEY (original_id),
  constraint receipt_revision_revision_id_key UNIQUE (revision_id)
);

create table request (
  id text not null,
  org_id text not null,
  key_id text not null,
  route text,
  status smallint not null,
  code text,
  model text,
  requested_model text,
  region text,
  streamed boolean,
  has_receipt boolean not null,
  replay_of text,
  input_tokens integer,
  output_tokens integer,
  queued_ms integer,
  first_ms integer,
  total_ms integer not null,
  upstream_calls smallint,
  requests integer not null default 1,
  last_ms integer,
  tags text[],
  network text,
  constraint request_code_check CHECK ((length(code) <= 128)),
  constraint request_id_check CHECK ((length(id) = 30)),
  constraint request_model_check CHECK ((length(model) <= 300)),
  constraint request_network_check CHECK ((length(network) <= 43)),
  constraint request_pkey PRIMARY KEY (org_id, id) INCLUDE (key_id, model, region, status, code, total_ms),
  constraint request_region_check CHECK ((length(region) <= 64)),
  constraint request_replay_of_check CHECK ((length(replay_of) = 30)),
  constraint request_requested_model_check CHECK ((length(requested_model) <= 128)),
  constraint request_requests_check CHECK ((requests > 0)),
  constraint request_route_check CHECK ((length(route) <= 128))
) partition by RANGE (id);

create table request_count (
  org_id text not null,
  by text not null,
  step text not null,
  at timestamp with time zone not null,
  name text not null,
  requests bigint not null,
  refused bigint not null,
  failed bigint not null,
  gone bigint not null,
  total_times integer[],
  first_times integer[],
  queued_times integer[],
  constraint request_count_by_check CHECK ((by = ANY (ARRAY['all'::text, 'model'::text, 'region'::text, 'key'::text, 'tag'::text, 'code'::text]))),
  constraint request_count_pkey PRIMARY KEY (org_id, by, step, at, name),
  constraint request_count_step_check CHECK ((step = ANY (ARRAY['hour'::text, 'day'::text])))
) with (fillfactor=50);

create table request_failing (
  org_id text not null,
  since timestamp(3) with time zone not null,
  until timestamp(3) with time zone not null,
  constraint request_failing_pkey PRIMARY KEY (org_id)
);

create table request_uncounted (
  org_id text not null,
  at timestamp with time zone not null,
  key_id text not null,
  model text,
  region text,
  code text,
  tags text[],
  outcome text not null,
  requests bigint not null,
  total_ms integer[],
  first_ms integer[],
  queued_ms integer[],
  constraint request_uncounted_outcome_check CHECK ((outcome = ANY (ARRAY['answered'::text, 'refused'::text, 'failed'::text, 'gone'::text])))
);

create table restatement (
  org_id text not null,
  requested_by text not null,
  requested_at timestamp(3) with time zone not null default now(),
  after_id text not null,
  end_id text not null,
  examined bigint not null default 0,
  restated bigint not null default 0,
  skipped bigint not null default 0,
  finished_at timestamp(3) with time zone,
  reason text,
  constraint restatement_pkey PRIMARY KEY (org_id)
) with (fillfactor=50);

create table review (
  id text not null,
  sequence bigint not null generated always as identity,
  org_id text not null,
  screening_id text,
  reason text not null,
  opened_at timestamp(3) with time zone not null,
  decision text,
  decided_by text,
  decided_at timestamp(3) with time zone,
  note text,
  constraint review_check CHECK ((num_nulls(decision, decided_by, decided_at, note) = ANY (ARRAY[0, 4]))),
  constraint review_decision_check CHECK ((decision = ANY (ARRAY['approved'::text, 'rejected'::text]))),
  constraint review_id_check CHECK ((id ~~ 'rev\_%'::text)),
  constraint review_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint review_pkey PRIMARY KEY (id),
  constraint review_screening_id_fkey FOREIGN KEY (screening_id) REFERENCES screening(id)
);

create table review_approval (
  review_id text not null,
  screening_id text not null,
  approved_by text not null,
  approved_at timestamp(3) with time zone not null,
  note text not null,
  constraint review_approval_pkey PRIMARY KEY (review_id, screening_id, approved_by),
  constraint review_approval_review_id_fkey FOREIGN KEY (review_id) REFERENCES review(id),
  constraint review_approval_screening_id_fkey FOREIGN KEY (screening_id) REFERENCES screening(id)
);

create table sanctions_list (
  id bigint not null generated always as identity,
  source text not null,
  version text not null,
  file_name text not null,
  published_on text,
  entities integer not null,
  names integer not null,
  imported_by text not null,
  imported_at timestamp(3) with time zone not null,
  current boolean not null default false,
  staged_at timestamp(3) with time zone,
  preview jsonb,
  constraint sanctions_list_check CHECK (((staged_at IS NULL) OR (NOT current))),
  constraint sanctions_list_pkey PRIMARY KEY (id),
  constraint sanctions_list_preview_check CHECK ((length((preview)::text) <= 500000)),
  constraint sanctions_list_source_check CHECK ((source = ANY (ARRAY['ofac_sdn'::text, 'eu'::text, 'un'::text, 'opensanctions'::text]))),
  constraint sanctions_list_source_version_key UNIQUE (source, version),
  constraint sanctions_list_version_check CHECK ((version ~ '^[0-9a-f]{64}$'::text))
);

create table sanctions_name (
  list_id bigint not null,
  ordinal integer not null,
  entity_id text not null,
  name text not null,
  kind text not null,
  weak boolean not null,
  programme text not null,
  countries text[] not null,
  constraint sanctions_name_kind_check CHECK ((kind = ANY (ARRAY['person'::text, 'organisation'::text, 'other'::text]))),
  constraint sanctions_name_list_id_fkey FOREIGN KEY (list_id) REFERENCES sanctions_list(id),
  constraint sanctions_name_pkey PRIMARY KEY (list_id, ordinal)
);

create table schema_migration (
  name character varying(255) not null,
  "timestamp" character varying(255) not null,
  constraint schema_migration_pkey PRIMARY KEY (name)
);

create table schema_migration_lock (
  id character varying(255) not null,
  is_locked integer not null default 0,
  constraint schema_migration_lock_pkey PRIMARY KEY (id)
);

create table screening (
  id text not null,
  sequence bigint not null generated always as identity,
  org_id text not null,
  cause text not null,
  outcome text not null,
  lists jsonb not null,
  reasons jsonb not null,
  duration_ms integer not null,
  screened_at timestamp(3) with time zone not null,
  declaration_id bigint,
  contract_id bigint,
  names_revision integer not null,
  constraint screening_cause_check CHECK ((cause = ANY (ARRAY['onboarding'::text, 'list_import'::text, 'operator'::text]))),
  constraint screening_contract_id_fkey FOREIGN KEY (contract_id) REFERENCES service_contract(id),
  constraint screening_declaration_id_fkey FOREIGN KEY (declaration_id) REFERENCES declaration(id),
  constraint screening_id_check CHECK ((id ~~ 'scr\_%'::text)),
  constraint screening_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint screening_outcome_check CHECK ((outcome = ANY (ARRAY['clear'::text, 'flagged'::text, 'hit'::text]))),
  constraint screening_pkey PRIMARY KEY (id)
);

create table sealed_pack (
  org_id text not null,
  seal text not null,
  name text not null,
  first_index bigint not null,
  last_index bigint not null,
  checkpoint_size bigint not null,
  generation integer not null,
  totals text not null,
  sealed_at timestamp(3) with time zone not null default now(),
  constraint sealed_pack_check CHECK ((((first_index >= 0) AND (first_index <= last_index)) AND (last_index < checkpoint_size))),
  constraint sealed_pack_pkey PRIMARY KEY (org_id, seal)
);

create table service_contract (
  id bigint not null generated always as identity,
  org_id text not null,
  kind text not null,
  document_sha256 bytea not null,
  signatory text not null,
  signed_at timestamp(3) with time zone not null,
  recorded_by text not null,
  recorded_at timestamp(3) with time zone not null,
  constraint service_contract_document_sha256_check CHECK ((length(document_sha256) = 32)),
  constraint service_contract_kind_check CHECK ((kind = ANY (ARRAY['pilot'::text, 'service'::text]))),
  constraint service_contract_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint service_contract_pkey PRIMARY KEY (id)
);

create table status_day (
  day date not null,
  component text not null,
  found jsonb not null,
  looked_at timestamp(3) with time zone not null,
  constraint status_day_component_check CHECK (((length(component) >= 1) AND (length(component) <= 200))),
  constraint status_day_found_check CHECK ((length((found)::text) <= 1000)),
  constraint status_day_pkey PRIMARY KEY (day, component)
);

create table stored_answer (
  claim text not null,
  request_id text not null,
  attempt integer not null,
  packed bytea not null,
  expires_at timestamp(3) with time zone not null,
  constraint stored_answer_pkey PRIMARY KEY (claim, request_id, attempt)
);

create table usage_day (
  org_id text not null,
  at timestamp with time zone not null,
  model text not null,
  region text not null,
  key_id text not null,
  tier text not null,
  quality text not null,
  first_index bigint not null,
  last_index bigint not null,
  refused bigint not null,
  failed bigint not null,
  covered bigint not null,
  uncovered bigint not null,
  input_tokens numeric not null,
  cached_input_tokens numeric not null,
  output_tokens numeric not null,
  uncovered_input_tokens numeric not null,
  uncovered_cached_input_tokens numeric not null,
  uncovered_output_tokens numeric not null,
  energy numeric not null,
  energy_lower numeric not null,
  energy_upper numeric not null,
  gwp numeric not null,
  gwp_lower numeric not null,
  gwp_upper numeric not null,
  water numeric not null,
  water_lower numeric not null,
  water_upper numeric not null,
  adpe numeric not null,
  adpe_lower numeric not null,
  adpe_upper numeric not null,
  adpf numeric not null,
  adpf_lower numeric not null,
  adpf_upper numeric not null,
  priced bigint not null default 0,
  cost numeric not null default 0,
  constraint usage_day_pkey PRIMARY KEY (org_id, at, model, region, key_id, tier, quality)
) with (fillfactor=50);

create table usage_hour (
  org_id text not null,
  at timestamp with time zone not null,
  model text not null,
  region text not null,
  key_id text not null,
  tier text not null,
  quality text not null,
  first_index bigint not null,
  last_index bigint not null,
  refused bigint not null,
  failed bigint not null,
  covered bigint not null,
  uncovered bigint not null,
  input_tokens numeric not null,
  cached_input_tokens numeric not null,
  output_tokens numeric not null,
  uncovered_input_tokens numeric not null,
  uncovered_cached_input_tokens numeric not null,
  uncovered_output_tokens numeric not null,
  energy numeric not null,
  energy_lower numeric not null,
  energy_upper numeric not null,
  gwp numeric not null,
  gwp_lower numeric not null,
  gwp_upper numeric not null,
  water numeric not null,
  water_lower numeric not null,
  water_upper numeric not null,
  adpe numeric not null,
  adpe_lower numeric not null,
  adpe_upper numeric not null,
  adpf numeric not null,
  adpf_lower numeric not null,
  adpf_upper numeric not null,
  priced bigint not null default 0,
  cost numeric not null default 0,
  constraint usage_hour_pkey PRIMARY KEY (org_id, at, model, region, key_id, tier, quality)
) with (fillfactor=50);

create table usage_tag (
  org_id text not null,
  at timestamp with time zone not null,
  tag text not null,
  value text not null,
  constraint usage_tag_pkey PRIMARY KEY (org_id, at, tag, value)
);

create table usage_tag_day (
  org_id text not null,
  at timestamp with time zone not null,
  model text not null,
  region text not null,
  key_id text not null,
  tier text not null,
  quality text not null,
  first_index bigint not null,
  last_index bigint not null,
  refused bigint not null,
  failed bigint not null,
  covered bigint not null,
  uncovered bigint not null,
  input_tokens numeric not null,
  cached_input_tokens numeric not null,
  output_tokens numeric not null,
  uncovered_input_tokens numeric not null,
  uncovered_cached_input_tokens numeric not null,
  uncovered_output_tokens numeric not null,
  energy numeric not null,
  energy_lower numeric not null,
  energy_upper numeric not null,
  gwp numeric not null,
  gwp_lower numeric not null,
  gwp_upper numeric not null,
  water numeric not null,
  water_lower numeric not null,
  water_upper numeric not null,
  adpe numeric not null,
  adpe_lower numeric not null,
  adpe_upper numeric not null,
  adpf numeric not null,
  adpf_lower numeric not null,
  adpf_upper numeric not null,
  tag text not null,
  value text not null,
  priced bigint not null default 0,
  cost numeric not null default 0,
  constraint usage_tag_day_pkey PRIMARY KEY (org_id, tag, at, value, model, region, key_id, tier, quality)
) with (fillfactor=50);

create table usage_tag_hour (
  org_id text not null,
  at timestamp with time zone not null,
  model text not null,
  region text not null,
  key_id text not null,
  tier text not null,
  quality text not null,
  first_index bigint not null,
  last_index bigint not null,
  refused bigint not null,
  failed bigint not null,
  covered bigint not null,
  uncovered bigint not null,
  input_tokens numeric not null,
  cached_input_tokens numeric not null,
  output_tokens numeric not null,
  uncovered_input_tokens numeric not null,
  uncovered_cached_input_tokens numeric not null,
  uncovered_output_tokens numeric not null,
  energy numeric not null,
  energy_lower numeric not null,
  energy_upper numeric not null,
  gwp numeric not null,
  gwp_lower numeric not null,
  gwp_upper numeric not null,
  water numeric not null,
  water_lower numeric not null,
  water_upper numeric not null,
  adpe numeric not null,
  adpe_lower numeric not null,
  adpe_upper numeric not null,
  adpf numeric not null,
  adpf_lower numeric not null,
  adpf_upper numeric not null,
  tag text not null,
  value text not null,
  priced bigint not null default 0,
  cost numeric not null default 0,
  constraint usage_tag_hour_pkey PRIMARY KEY (org_id, tag, at, value, model, region, key_id, tier, quality)
) with (fillfactor=50);

create table webhook_delivery (
  id text not null,
  endpoint_id text not null,
  org_id text not null,
  type text not null,
  body text not null,
  once text,
  created_at timestamp(3) with time zone not null,
  attempts integer not null default 0,
  next_attempt_at timestamp(3) with time zone,
  delivered_at timestamp(3) with time zone,
  status smallint,
  failure text,
  constraint webhook_delivery_body_check CHECK ((length(body) <= 20000)),
  constraint webhook_delivery_check CHECK (((delivered_at IS NULL) OR (next_attempt_at IS NULL))),
  constraint webhook_delivery_endpoint_id_once_key UNIQUE (endpoint_id, once),
  constraint webhook_delivery_failure_check CHECK ((length(failure) <= 200)),
  constraint webhook_delivery_id_check CHECK ((id ~~ 'msg\_%'::text)),
  constraint webhook_delivery_pkey PRIMARY KEY (id)
);

create table webhook_endpoint (
  id text not null,
  org_id text not null,
  address text not null,
  description text not null,
  events text[] not null,
  secret text not null,
  secret_before text,
  secret_before_until timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  failing_since timestamp(3) with time zone,
  paused_at timestamp(3) with time zone,
  pause_reason text,
  constraint webhook_endpoint_address_check CHECK (((length(address) >= 1) AND (length(address) <= 500))),
  constraint webhook_endpoint_check CHECK ((num_nulls(secret_before, secret_before_until) = ANY (ARRAY[0, 2]))),
  constraint webhook_endpoint_check1 CHECK ((num_nulls(paused_at, pause_reason) = ANY (ARRAY[0, 2]))),
  constraint webhook_endpoint_description_check CHECK ((length(description) <= 100)),
  constraint webhook_endpoint_events_check CHECK (((cardinality(events) >= 1) AND (cardinality(events) <= 20))),
  constraint webhook_endpoint_id_check CHECK ((id ~~ 'whe\_%'::text)),
  constraint webhook_endpoint_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint webhook_endpoint_pause_reason_check CHECK ((pause_reason = ANY (ARRAY['gone'::text, 'failing'::text]))),
  constraint webhook_endpoint_pkey PRIMARY KEY (id)
);

CREATE INDEX account_by_state ON public.account USING btree (state, id);
CREATE INDEX anchor_head_by_index ON public.anchor_head USING btree (index);
CREATE INDEX api_key_active ON public.api_key USING btree (org_id, id) WHERE (state = 'active'::text);
CREATE UNIQUE INDEX api_key_by_hash ON public.api_key USING btree (hash);
CREATE INDEX api_key_by_organisation ON public.api_key USING btree (org_id, id);
CREATE INDEX api_key_expiring ON public.api_key USING btree (expires_at) WHERE ((state = 'active'::text) AND (expires_at IS NOT NULL));
CREATE UNIQUE INDEX api_key_of_playground ON public.api_key USING btree (org_id, playground_of) WHERE ((playground_of IS NOT NULL) AND (state = 'active'::text));
CREATE INDEX api_key_playgrounds ON public.api_key USING btree (org_id, id) WHERE (playground_of IS NOT NULL);
CREATE INDEX api_key_purgeable ON public.api_key USING btree (revoked_at) WHERE (state = 'revoked'::text);
CREATE INDEX audit_log_by_action ON public.audit_log USING btree (org_id, action, sequence);
CREATE INDEX audit_log_by_actor ON public.audit_log USING btree (org_id, actor_id, sequence);
CREATE INDEX audit_log_by_subject ON public.audit_log USING btree (org_id, subject, sequence) WHERE (subject IS NOT NULL);
CREATE INDEX audit_log_by_time ON public.audit_log USING btree (org_id, at);
CREATE INDEX budget_by_organisation ON public.budget USING btree (org_id, id);
CREATE INDEX declaration_by_organisation ON public.declaration USING btree (org_id, id DESC);
CREATE INDEX event_by_organisation ON public.event USING btree (org_id, id);
CREATE INDEX event_by_time ON public.event USING btree (at);
CREATE INDEX export_by_org ON public.export USING btree (org_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX export_due ON public.export USING btree (id) WHERE ((deleted_at IS NULL) AND (status = ANY (ARRAY['queued'::text, 'running'::text])));
CREATE INDEX export_expiring ON public.export USING btree (expires_at) WHERE (status = 'ready'::text);
CREATE INDEX export_turn ON public.export USING btree (org_id, started_at);
CREATE INDEX export_unremoved ON public.export USING btree (id) WHERE ((removed_at IS NULL) AND ((status = ANY (ARRAY['expired'::text, 'failed'::text])) OR (deleted_at IS NOT NULL)));
CREATE INDEX incident_by_begin ON public.incident USING btree (began_at);
CREATE INDEX kept_response_bytes ON public.kept_response USING btree (org_id) INCLUDE (bytes);
CREATE INDEX kept_response_expiry ON public.kept_response USING btree (expires_at);
CREATE INDEX kept_response_items ON public.kept_response USING gin (items) WHERE (items IS NOT NULL);
CREATE INDEX ledger_archive_unremoved ON public.ledger_archive USING btree (first_id) WHERE (removed_at IS NULL);
CREATE INDEX ledger_body_by_org ON ONLY public.ledger_body USING btree (org_id, entry_id) INCLUDE (kind, model, region, tier, outcome, key_id, input_tokens, output_tokens, energy_kwh, gwp_kgco2e);
CREATE INDEX ledger_body_refused ON ONLY public.ledger_body USING btree (entry_id) INCLUDE (refusal_rule, org_id) WHERE (kind = 'refused'::text);
CREATE INDEX ledger_entry_rare ON public.ledger_entry USING btree (org_id, kind, index) WHERE (kind <> 'inference'::text);
CREATE INDEX ledger_head_halted ON public.ledger_head USING btree (org_id) WHERE (halted_at IS NOT NULL);
CREATE INDEX ledger_quarantine_by_org ON public.ledger_quarantine USING btree (org_id, entry_id);
CREATE INDEX mail_outbox_by_organisation ON public.mail_outbox USING btree (org_id, created_at) WHERE (org_id IS NOT NULL);
CREATE INDEX mail_outbox_by_recipient ON public.mail_outbox USING btree (lower(recipient), created_at);
CREATE INDEX mail_outbox_due ON public.mail_outbox USING btree (next_attempt_at) WHERE ((sent_at IS NULL) AND (failed_at IS NULL));
CREATE INDEX mail_outbox_failed ON public.mail_outbox USING btree (failed_at) WHERE (failed_at IS NOT NULL);
CREATE INDEX mail_outbox_sent ON public.mail_outbox USING btree (sent_at) WHERE (sent_at IS NOT NULL);
CREATE UNIQUE INDEX metered_record_interval ON public.metered_record USING btree (endpoint, from_at) WHERE (energy_uj IS NOT NULL);
CREATE INDEX metered_request_attributed ON public.metered_request USING btree (receipt_id) WHERE (state = 'attributed'::text);
CREATE INDEX metered_request_settled ON public.metered_request USING btree (ended_at) WHERE (state = ANY (ARRAY['measured'::text, 'unmeasured'::text]));
CREATE INDEX metered_request_unsettled ON public.metered_request USING btree (receipt_id) WHERE (state = 'waiting'::text);
CREATE INDEX metered_request_waiting ON public.metered_request USING btree (endpoint, began_at);
CREATE INDEX recalculation_by_org ON public.recalculation USING btree (org_id, receipt_id);
CREATE INDEX recalculation_due ON public.recalculation USING btree (due_at) WHERE (state = 'pending'::text);
CREATE INDEX receipt_revision_by_first ON public.receipt_revision USING btree (org_id, first_id);
CREATE INDEX request_count_by_time ON public.request_count USING btree (step, at);
CREATE INDEX request_failed ON ONLY public.request USING btree (org_id, id) INCLUDE (code, requests) WHERE (code IS NOT NULL);
CREATE INDEX request_tagged ON ONLY public.request USING btree (org_id, id) INCLUDE (tags, key_id, model, region, status, code, total_ms) WHERE (tags IS NOT NULL);
CREATE INDEX restatement_unfinished ON public.restatement USING btree (requested_at) WHERE (finished_at IS NULL);
CREATE INDEX review_by_organisation ON public.review USING btree (org_id, sequence DESC);
CREATE UNIQUE INDEX review_one_open ON public.review USING btree (org_id) WHERE (decision IS NULL);
CREATE UNIQUE INDEX sanctions_list_one_current ON public.sanctions_list USING btree (source) WHERE current;
CREATE INDEX sanctions_list_staged ON public.sanctions_list USING btree (staged_at) WHERE (staged_at IS NOT NULL);
CREATE INDEX screening_by_organisation ON public.screening USING btree (org_id, sequence DESC);
CREATE INDEX sealed_pack_by_end ON public.sealed_pack USING btree (org_id, generation, last_index);
CREATE INDEX service_contract_by_organisation ON public.service_contract USING btree (org_id, id DESC);
CREATE INDEX stored_answer_expiry ON public.stored_answer USING btree (expires_at);
CREATE INDEX usage_day_by_key ON public.usage_day USING btree (org_id, key_id);
CREATE INDEX usage_day_by_model ON public.usage_day USING btree (org_id, model);
CREATE INDEX usage_day_by_region ON public.usage_day USING btree (org_id, region);
CREATE INDEX webhook_delivery_by_endpoint ON public.webhook_delivery USING btree (endpoint_id, id);
CREATE INDEX webhook_delivery_by_organisation ON public.webhook_delivery USING btree (org_id);
CREATE INDEX webhook_delivery_by_time ON public.webhook_delivery USING btree (created_at);
CREATE INDEX webhook_delivery_due ON public.webhook_delivery USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);
CREATE INDEX webhook_delivery_waiting ON public.webhook_delivery USING btree (endpoint_id, next_attempt_at) WHERE (next_attempt_at IS NOT NULL);
CREATE INDEX webhook_endpoint_by_organisation ON public.webhook_endpoint USING btree (org_id, id);

create view receipt_figure as
 SELECT org_id,
    entry_id,
    COALESCE(model, ''::text) AS model,
    COALESCE(region, ''::text) AS region,
    COALESCE(key_id, ''::text) AS key_id,
    COALESCE(tier, ''::text) AS tier,
    COALESCE(data_quality, ''::text) AS quality,
    (kind = 'refused'::text)::integer AS refused,
    (kind = 'failed'::text)::integer AS failed,
    (kind <> ALL (ARRAY['refused'::text, 'failed'::text, 'degraded'::text]))::integer AS covered,
    (kind = 'degraded'::text)::integer AS uncovered,
    COALESCE(input_tokens, 0::bigint)::numeric AS input_tokens,
    COALESCE(cached_input_tokens, 0::bigint)::numeric AS cached_input_tokens,
    COALESCE(output_tokens, 0::bigint)::numeric AS output_tokens,
    COALESCE(energy_kwh, 0::double precision)::numeric AS energy,
    COALESCE(bounds[1], 0::double precision)::numeric AS energy_lower,
    COALESCE(bounds[2], 0::double precision)::numeric AS energy_upper,
    COALESCE(gwp_kgco2e, 0::double precision)::numeric AS gwp,
    COALESCE(bounds[3], 0::double precision)::numeric AS gwp_lower,
    COALESCE(bounds[4], 0::double precision)::numeric AS gwp_upper,
    COALESCE(water_l, 0::double precision)::numeric AS water,
    COALESCE(bounds[5], 0::double precision)::numeric AS water_lower,
    COALESCE(bounds[6], 0::double precision)::numeric AS water_upper,
    COALESCE(adpe_kgsbe, 0::double precision)::numeric AS adpe,
    COALESCE(bounds[7], 0::double precision)::numeric AS adpe_lower,
    COALESCE(bounds[8], 0::double precision)::numeric AS adpe_upper,
    COALESCE(adpf_mj, 0::double precision)::numeric AS adpf,
    COALESCE(bounds[9], 0::double precision)::numeric AS adpf_lower,
    COALESCE(bounds[10], 0::double precision)::numeric AS adpf_upper,
    tags,
    (cost IS NOT NULL)::integer AS priced,
    COALESCE(cost, 0::numeric) AS cost
   FROM ledger_body b;

CREATE OR REPLACE FUNCTION public.account_check_state()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.account_check_vetting()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if not account_vetting_is_current(new.id) then
    raise exception 'the account was not screened against the current lists' using errcode = 'check_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.account_hold_changed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  -- After a step that is under way, which knows nothing of it.
  perform pg_advisory_xact_lock(hashtext('rewrite_ledger_month'));
  delete from ledger_rewrite;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.account_names_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.names_revision := old.names_revision + 1;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.account_vetting_is_current(account_id text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.add_counts(counts integer[], more integer[])
 RETURNS integer[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
declare
  longer integer[] := counts;
  shorter integer[] := more;
begin
  if counts is null or more is null then return coalesce(counts, more); end if;
  if cardinality(more) > cardinality(counts) then
    longer := more;
    shorter := counts;
  end if;
  for i in 1..cardinality(shorter) loop
    if shorter[i] > 0 then longer[i] := longer[i] + shorter[i]; end if;
  end loop;
  return longer;
end $function$;

CREATE OR REPLACE FUNCTION public.anchor_head_check()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from anchor_head a where a.org_id = new.org_id and (a.index >= new.index or a.size >= new.size)) then
    raise exception 'an anchored head is larger than those before it' using errcode = 'check_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.announce_account()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('docket_credentials', json_build_object(
    'organisation', new.id,
    'at', floor(extract(epoch from clock_timestamp()) * 1000))::text);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.announce_budget()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  changed budget := coalesce(new, old);
begin
  perform pg_notify('docket_credentials', json_build_object(
    'organisation', changed.org_id,
    'at', floor(extract(epoch from clock_timestamp()) * 1000))::text);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.announce_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  changed api_key := coalesce(new, old);
begin
  perform pg_notify('docket_credentials', json_build_object(
    'hash', encode(changed.hash, 'hex'),
    'at', floor(extract(epoch from clock_timestamp()) * 1000))::text);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.api_key_check_state()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.audit_checkpoint_check()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from audit_checkpoint c where c.log_id = new.log_id and c.size >= new.size) then
    raise exception 'a signed head is larger than those before it' using errcode = 'check_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.audit_log_link()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  head audit_head;
begin
  select h.* into head from audit_head h where h.org_id = new.org_id for update;
  if not found or head.size <> new.sequence or head.hash <> new.previous_hash then
    raise exception 'the entry does not continue the chain' using errcode = 'check_violation';
  end if;
  update audit_head set size = new.sequence + 1, hash = new.hash where org_id = new.org_id;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.audit_log_refuse()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION public.count_times(counts integer[], times integer[])
 RETURNS integer[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
declare
  ms integer;
  bucket integer;
begin
  if times is null then return counts; end if;
  counts := coalesce(counts, '{}');
  foreach ms in array times loop
    bucket := time_bucket(ms);
    if cardinality(counts) < bucket then counts := counts || array_fill(0, array[bucket - cardinality(counts)]); end if;
    counts[bucket] := counts[bucket] + 1;
  end loop;
  return counts;
end $function$;

CREATE OR REPLACE FUNCTION public.discard_sanctions_list(of_id bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform from sanctions_list where id = of_id and staged_at is not null for update;
  if not found then
    return false;
  end if;
  delete from sanctions_name where list_id = of_id;
  delete from sanctions_list where id = of_id;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION public.drop_ledger_bodies(month timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
declare
  first_day constant timestamp := date_trunc('month', month at time zone 'utc');
  name constant text := to_char(first_day, '"ledger_body_"YYYY_MM');
  from_id constant text := receipt_id_at(first_day at time zone 'utc');
  to_id constant text := receipt_id_at((first_day + interval '1 month') at time zone 'utc');
  held text;
begin
  if first_day >= date_trunc('month', now() at time zone 'utc') then
    raise exception 'the month is not over' using errcode = 'check_violation';
  end if;
  if to_regclass('public.' || name) is null then
    raise exception 'there is no partition %', name using errcode = 'undefined_table';
  end if;
  -- A legal hold that begins waits until the month is gone: who sets one is told so when it keeps all that is left.
  perform pg_advisory_xact_lock(hashtext('rewrite_ledger_month'));
  -- From here on nothing is added to the month, so what was looked at stays true until the drop.
  execute format('lock table %I in access exclusive mode', name);
  if exists (select from receipt_pending p where p.entry_id >= from_id and p.entry_id < to_id)
    or exists (select from ledger_quarantine q where q.entry_id >= from_id and q.entry_id < to_id) then
    raise exception 'receipts of that month are not integrated' using errcode = 'check_violation';
  end if;
  select a.id into held from account a where a.legal_hold
    and exists (select from ledger_body b where b.org_id = a.id and b.entry_id >= from_id and b.entry_id < to_id) limit 1;
  if held is not null then
    raise exception '% has receipts of that month and is under a legal hold', held using errcode = 'check_violation';
  end if;
  execute format('drop table %I', name);
  execute format('drop table if exists %I', name || '_copy');
  delete from ledger_rewrite where partition = name;
  insert into ledger_retention (first_id, end_id) values (from_id, to_id);
  delete from ledger_archive_block where first_id >= from_id and first_id < to_id;
  update ledger_archive set dropped_at = now() where first_id >= from_id and first_id < to_id;
end $function$;

CREATE OR REPLACE FUNCTION public.drop_request_partitions(kept_days integer)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
declare
  -- Days before this one are over their time.
  first_kept constant timestamp := date_trunc('day', now() at time zone 'utc') - make_interval(days => kept_days);
  name text;
begin
  if kept_days not between 1 and 3650 then
    raise exception 'between 1 and 3650 days are kept' using errcode = 'invalid_parameter_value';
  end if;
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'request'::regclass and c.relname ~ '^request_\d{4}_\d\d_\d\d$'
      and to_date(substr(c.relname, 9), 'YYYY_MM_DD') < first_kept
    order by 1
  loop
    execute format('drop table %I', name);
    return next name;
  end loop;
  delete from request_default where id < request_id_at(first_kept at time zone 'utc');
end $function$;

CREATE OR REPLACE FUNCTION public.ensure_ledger_partitions(months_ahead integer DEFAULT 3)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
declare
  this_month constant timestamp := date_trunc('month', now() at time zone 'utc');
  month timestamp;
  name text;
  first_id text;
  end_id text;
begin
  if months_ahead not between 0 and 24 then
    raise exception 'at most 24 months ahead' using errcode = 'invalid_parameter_value';
  end if;
  -- Two callers take turns, and the second finds nothing left to do.
  perform pg_advisory_xact_lock(hashtext('ensure_ledger_partitions'));
  for i in -1..months_ahead loop
    month := this_month + make_interval(months => i);
    name := to_char(month, '"ledger_body_"YYYY_MM');
    first_id := receipt_id_at(month at time zone 'utc');
    end_id := receipt_id_at((month + interval '1 month') at time zone 'utc');
    continue when to_regclass('public.' || name) is not null;
    continue when exists (select from ledger_body_default where entry_id >= first_id and entry_id < end_id);
    -- Made apart and then attached: that leaves writers of the other months alone.
    execute format('create table %I (like ledger_body including all) with (toast_tuple_target = 4080)', name);
    perform ledger_sample_less(name::regclass);
    execute format('alter table ledger_body attach partition %I for values from (%L) to (%L)', name, first_id, end_id);
    execute format('create trigger ledger_body_no_truncate before truncate on %I
      for each statement execute function ledger_refuse()', name);
    return next name;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION public.ensure_request_partitions(days_ahead integer DEFAULT 7)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
declare
  today constant timestamp := date_trunc('day', now() at time zone 'utc');
  day timestamp;
  name text;
  first_id text;
  end_id text;
begin
  if days_ahead not between 0 and 60 then
    raise exception 'at most 60 days ahead' using errcode = 'invalid_parameter_value';
  end if;
  -- Two callers take turns, and the second finds nothing left to do.
  perform pg_advisory_xact_lock(hashtext('ensure_request_partitions'));
  for i in -1..days_ahead loop
    day := today + make_interval(days => i);
    name := to_char(day, '"request_"YYYY_MM_DD');
    first_id := request_id_at(day at time zone 'utc');
    end_id := request_id_at((day + interval '1 day') at time zone 'utc');
    continue when to_regclass('public.' || name) is not null;
    continue when exists (select from request_default where id >= first_id and id < end_id);
    -- Made apart and then attached: that leaves writers of the other days alone.
    execute format('create table %I (like request including all)', name);
    execute format('alter table request attach partition %I for values from (%L) to (%L)', name, first_id, end_id);
    return next name;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION public.event_id_at(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE STRICT
RETURN ('evt_'::text || substr(receipt_id_at(at), 6));

CREATE OR REPLACE FUNCTION public.forget_events()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  delete from event where org_id = new.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.forget_kept_responses()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  delete from kept_response where org_id = new.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.forget_webhooks()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  -- The endpoints first, as each act on one and each note of an attempt does: in the other order an organisation that closes
  -- while a message of it is noted waits for that in a circle, and is not closed.
  delete from webhook_endpoint where org_id = new.id;
  delete from webhook_delivery where org_id = new.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.ledger_checkpoint_check()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from ledger_checkpoint c where c.org_id = new.org_id and c.size >= new.size) then
    raise exception 'a checkpoint is larger than those before it' using errcode = 'check_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.ledger_generation_at(log text, head_size bigint)
 RETURNS integer
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
RETURN COALESCE((SELECT max(l.generation) AS max FROM ledger_loss l WHERE ((l.log_id = ledger_generation_at.log) AND (l.kept_size < ledger_generation_at.head_size))), 1);

CREATE OR REPLACE FUNCTION public.ledger_head_check()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.size < old.size or new.checkpoint_size < old.checkpoint_size or new.org_id <> old.org_id then
    raise exception 'a log never shrinks' using errcode = 'check_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.ledger_index_at(log text, moment timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  low bigint := 0;
  high bigint := coalesce((select size from ledger_head where org_id = log), 0);
  middle bigint;
begin
  while low < high loop
    middle := (low + high) / 2;
    if (select e.integrated_at < moment from ledger_entry e where e.org_id = log and e.index = middle) then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  return low;
end $function$;

CREATE OR REPLACE FUNCTION public.ledger_late()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  delete from ledger_rewrite where partition = tg_table_name;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.ledger_loss_check()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from ledger_loss l where l.log_id = new.log_id
             and (l.generation >= new.generation or l.kept_size > new.kept_size)) then
    raise exception 'a loss comes after those before it' using errcode = 'check_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.ledger_refuse()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION public.ledger_sample_less(of_table regclass)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  execute (
    select format('alter table %s %s', of_table, string_agg(format('alter %I set statistics 10', attname), ', '))
    from pg_attribute where attrelid = of_table and attnum > 0 and not attisdropped);
  execute format(
    'alter table %s set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
       autovacuum_freeze_min_age = 0)', of_table);
  if exists (select from pg_attribute where attrelid = of_table and attname = 'body' and attcompression = 'l') then
    execute format('alter table %s set (toast_tuple_target = 2712)', of_table);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.newest_outcomes(of_org text, since timestamp with time zone, most integer)
 RETURNS TABLE(status smallint, code text, requests bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
    select n.status, n.code, sum(n.requests)::bigint from (
      select r.status, r.code, r.requests from request r
      where r.org_id = of_org and r.id >= request_id_at(since) order by r.id desc limit most) n
    group by n.status, n.code
  $function$;

CREATE OR REPLACE FUNCTION public.note_uncounted_requests()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into request_uncounted
  select w.org_id, receipt_hour('rcpt_' || substr(w.id, 5)), w.key_id, w.model, w.region, w.code, w.tags,
    request_outcome(w.status, w.code), sum(w.requests), array_agg(w.total_ms) filter (where t.is_timed),
    array_agg(w.first_ms) filter (where t.is_timed and w.first_ms is not null),
    array_agg(w.queued_ms) filter (where t.is_timed and w.queued_ms is not null)
  from written w
  cross join lateral (
    select w.requests = 1 and w.model is not null and w.replay_of is null
      and request_outcome(w.status, w.code) = 'answered' as is_timed) t
  group by 1, 2, 3, 4, 5, 6, 7, 8;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.receipt_hour(id text)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select to_timestamp((
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 6, 1)) - 1)::bigint << 45) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 7, 1)) - 1)::bigint << 40) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 8, 1)) - 1)::bigint << 35) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 9, 1)) - 1)::bigint << 30) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 10, 1)) - 1)::bigint << 25) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 11, 1)) - 1)::bigint << 20) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 12, 1)) - 1)::bigint << 15) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 13, 1)) - 1)::bigint << 10) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 14, 1)) - 1)::bigint << 5) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 15, 1)) - 1)::bigint << 0)) / 3600000 * 3600)
$function$;

CREATE OR REPLACE FUNCTION public.receipt_id_at(at timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE STRICT
AS $function$
declare
  digits constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  rest bigint := floor(extract(epoch from at) * 1000);
  id text := '';
begin
  for i in 1..10 loop
    id := substr(digits, (rest % 32)::int + 1, 1) || id;
    rest := rest / 32;
  end loop;
  return 'rcpt_' || id;
end $function$;

CREATE OR REPLACE FUNCTION public.receipt_revision_check()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if not exists (select from ledger_body b where b.entry_id = new.original_id and b.org_id = new.org_id) then
    raise exception 'a revision belongs to a receipt of the same organisation' using errcode = 'foreign_key_violation';
  end if;
  new.first_id := coalesce(
    (select r.first_id from receipt_revision r where r.revision_id = new.original_id), new.original_id);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.request_id_at(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE STRICT
 SET search_path TO 'public', 'pg_temp'
RETURN replace(receipt_id_at(at), 'rcpt_'::text, 'req_'::text);

CREATE OR REPLACE FUNCTION public.request_outcome(status integer, code text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (status = 499) THEN 'gone'::text WHEN ((status >= 500) OR ((status < 400) AND (code IS NOT NULL))) THEN 'failed'::text WHEN (status >= 400) THEN 'refused'::text ELSE 'answered'::text END;

CREATE OR REPLACE FUNCTION public.rewrite_ledger_month(month timestamp with time zone, rows_max integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
declare
  first_day constant timestamp := date_trunc('month', month at time zone 'utc');
  name constant text := to_char(first_day, '"ledger_body_"YYYY_MM');
  copy constant text := name || '_copy';
  from_id constant text := receipt_id_at(first_day at time zone 'utc');
  to_id constant text := receipt_id_at((first_day + interval '1 month') at time zone 'utc');
  columns text;
  after_id text;
  copied_to_id text;
begin
  if first_day >= date_trunc('month', now() at time zone 'utc') then
    raise exception 'the month is not over' using errcode = 'check_violation';
  end if;
  if to_regclass('public.' || name) is null then
    raise exception 'there is no partition %', name using errcode = 'undefined_table';
  end if;
  -- Two callers take turns.
  perform pg_advisory_xact_lock(hashtext('rewrite_ledger_month'));
  select copied_to into after_id from ledger_rewrite where partition = name;
  if after_id is null then
    execute format('drop table if exists %I', copy);
    execute format('create table %I (like ledger_body including all) with (toast_tuple_target = 4080)', copy);
    -- By it the copy need not be read when it is attached.
    execute format('alter table %I add constraint of_month check (entry_id >= %L and entry_id < %L)', copy, from_id, to_id);
    perform ledger_sample_less(copy::regclass);
    execute format('create or replace trigger ledger_body_late after insert on %I
      for each row execute function ledger_late()', name);
    insert into ledger_rewrite (partition) values (name);
    after_id := '';
  end if;
  select string_agg(
      case attname when 'body' then 'case when k.org_id is null then b.body end' else format('b.%I', attname) end,
      ', ' order by attnum)
    into columns from pg_attribute
    where attrelid = 'ledger_body'::regclass and attnum > 0 and not attisdropped;
  execute format(
    'with page as materialized (
       select * from %1$I where entry_id > $1 order by entry_id limit $2
     ), block as materialized (
       select k.org_id, k.first_id, k.last_id
       from (select org_id, min(entry_id) as first_id, max(entry_id) as last_id from page group by org_id) p
       -- The first block of the page, so that those of all pages before it are not looked at again.
       cross join lateral (
         select coalesce(max(b.first_id), $3) as first_id from ledger_archive_block b
         where b.org_id = p.org_id and b.first_id >= $3 and b.first_id <= p.first_id) s
       join ledger_archive_block k
         on k.org_id = p.org_id and k.first_id >= s.first_id and k.first_id <= p.last_id and k.last_id >= p.first_id
       where k.receipts = (
         select count(*) from %1$I o where o.org_id = k.org_id and o.entry_id >= k.first_id and o.entry_id <= k.last_id)
         and not exists (
           select from ledger_archive_block o
           where o.org_id = k.org_id and o.first_id > k.first_id and o.first_id <= k.last_id)
         and not exists (select from account a where a.id = k.org_id and a.legal_hold)
     ), copied as (
       insert into %2$I
       select %3$s from page b
       left join block k on k.org_id = b.org_id and b.entry_id >= k.first_id and b.entry_id <= k.last_id
       returning entry_id)
     select max(entry_id) from copied', name, copy, columns)
    into copied_to_id using after_id, rows_max, from_id;
  if copied_to_id is not null then
    update ledger_rewrite set copied_to = copied_to_id where partition = name;
    return false;
  end if;
  -- From here on nothing is added to the month; those who read it go on until it is replaced. What vacuums it or the copy gives
  -- way after a second.
  execute format('lock table %I in access exclusive mode', copy);
  execute format('lock table %I in share row exclusive mode', name);
  delete from ledger_rewrite where partition = name;
  if not found then
    return false;
  end if;
  -- All that reads or adds receipts waits behind the lock that is asked for now: it is given up soon, and asked for again later.
  perform set_config('lock_timeout', '500ms', true);
  execute format('drop table %I', name);
  execute format('alter table %I rename to %I', copy, name);
  execute format('alter table ledger_body attach partition %I for values from (%L) to (%L)', name, from_id, to_id);
  execute format('alter table %I drop constraint of_month', name);
  execute format('create trigger ledger_body_no_truncate before truncate on %I
    for each statement execute function ledger_refuse()', name);
  update ledger_archive r set removed_at = now()
    where first_id >= from_id and first_id < to_id and removed_at is null
      and not exists (select from account a where a.id = r.org_id and a.legal_hold);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION public.sanctions_name_of_api()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if current_user = 'docket_api' and exists (
    select from added a join sanctions_list l on l.id = a.list_id where l.staged_at is null) then
    raise exception 'names are added to lists that wait alone' using errcode = 'insufficient_privilege';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.time_bucket(ms integer)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN CASE WHEN (ms < 1) THEN 1 ELSE LEAST((2 + (floor(((((4)::double precision * ln((ms)::double precision)) / ln((2)::double precision)) + (0.000000001)::double precision)))::integer), 112) END;

CREATE TRIGGER account_announce AFTER UPDATE OF state, plan, requests_per_second, burst, requests_per_day, concurrent_streams, allowed_regions, allowed_models, keep_responses, tags ON public.account FOR EACH ROW EXECUTE FUNCTION announce_account();
CREATE TRIGGER account_check_state BEFORE INSERT OR UPDATE OF state ON public.account FOR EACH ROW EXECUTE FUNCTION account_check_state();
CREATE TRIGGER account_check_vetting BEFORE UPDATE OF state ON public.account FOR EACH ROW WHEN (((new.state = 'active'::text) AND (old.state <> 'active'::text))) EXECUTE FUNCTION account_check_vetting();
CREATE TRIGGER account_forgets AFTER UPDATE OF keep_responses, state ON public.account FOR EACH ROW WHEN (((old.keep_responses AND (NOT new.keep_responses)) OR ((new.state = 'closed'::text) AND (old.state <> 'closed'::text)))) EXECUTE FUNCTION forget_kept_responses();
CREATE TRIGGER account_forgets_events AFTER UPDATE OF state ON public.account FOR EACH ROW WHEN (((new.state = 'closed'::text) AND (old.state <> 'closed'::text))) EXECUTE FUNCTION forget_events();
CREATE TRIGGER account_forgets_webhooks AFTER UPDATE OF state ON public.account FOR EACH ROW WHEN (((new.state = 'closed'::text) AND (old.state <> 'closed'::text))) EXECUTE FUNCTION forget_webhooks();
CREATE TRIGGER account_hold_changed AFTER UPDATE OF legal_hold ON public.account FOR EACH ROW WHEN ((new.legal_hold <> old.legal_hold)) EXECUTE FUNCTION account_hold_changed();
CREATE TRIGGER account_names_changed BEFORE UPDATE OF name, billing_name, technical_name ON public.account FOR EACH ROW WHEN ((((new.name IS DISTINCT FROM old.name) OR (new.billing_name IS DISTINCT FROM old.billing_name)) OR (new.technical_name IS DISTINCT FROM old.technical_name))) EXECUTE FUNCTION account_names_changed();
CREATE TRIGGER anchor_cosignature_no_change BEFORE DELETE OR UPDATE ON public.anchor_cosignature FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_cosignature_no_truncate BEFORE TRUNCATE ON public.anchor_cosignature FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_entry_no_change BEFORE DELETE OR UPDATE ON public.anchor_entry FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_entry_no_truncate BEFORE TRUNCATE ON public.anchor_entry FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_epoch_no_change BEFORE DELETE OR UPDATE ON public.anchor_epoch FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_epoch_no_truncate BEFORE TRUNCATE ON public.anchor_epoch FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_head_check BEFORE INSERT ON public.anchor_head FOR EACH ROW EXECUTE FUNCTION anchor_head_check();
CREATE TRIGGER anchor_head_no_change BEFORE DELETE OR UPDATE ON public.anchor_head FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_head_no_truncate BEFORE TRUNCATE ON public.anchor_head FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_slot_no_change BEFORE DELETE OR UPDATE ON public.anchor_slot FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_slot_no_truncate BEFORE TRUNCATE ON public.anchor_slot FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_timestamp_no_change BEFORE DELETE OR UPDATE ON public.anchor_timestamp FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER anchor_timestamp_no_truncate BEFORE TRUNCATE ON public.anchor_timestamp FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER api_key_announce AFTER INSERT OR DELETE OR UPDATE OF state, scopes, expires_at, requests_per_second, burst ON public.api_key FOR EACH ROW EXECUTE FUNCTION announce_key();
CREATE TRIGGER api_key_check_state BEFORE INSERT OR DELETE OR UPDATE OF id, org_id, hash, lineage_id, state ON public.api_key FOR EACH ROW EXECUTE FUNCTION api_key_check_state();
CREATE TRIGGER audit_checkpoint_check BEFORE INSERT ON public.audit_checkpoint FOR EACH ROW EXECUTE FUNCTION audit_checkpoint_check();
CREATE TRIGGER audit_checkpoint_no_change BEFORE DELETE OR UPDATE ON public.audit_checkpoint FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER audit_checkpoint_no_truncate BEFORE TRUNCATE ON public.audit_checkpoint FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER audit_head_no_removal BEFORE DELETE ON public.audit_head FOR EACH ROW EXECUTE FUNCTION audit_log_refuse();
CREATE TRIGGER audit_head_no_truncate BEFORE TRUNCATE ON public.audit_head FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();
CREATE TRIGGER audit_log_link BEFORE INSERT ON public.audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_link();
CREATE TRIGGER audit_log_no_change BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION audit_log_refuse();
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();
CREATE TRIGGER budget_announce AFTER INSERT OR DELETE OR UPDATE ON public.budget FOR EACH ROW EXECUTE FUNCTION announce_budget();
CREATE TRIGGER derivation_no_change BEFORE DELETE OR UPDATE ON public.derivation FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER derivation_no_truncate BEFORE TRUNCATE ON public.derivation FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER grid_hour_no_change BEFORE DELETE OR UPDATE ON public.grid_hour FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_body_no_change BEFORE DELETE OR UPDATE ON public.ledger_body FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_body_no_truncate BEFORE TRUNCATE ON public.ledger_body FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_checkpoint_check BEFORE INSERT ON public.ledger_checkpoint FOR EACH ROW EXECUTE FUNCTION ledger_checkpoint_check();
CREATE TRIGGER ledger_checkpoint_no_change BEFORE DELETE OR UPDATE ON public.ledger_checkpoint FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_checkpoint_no_truncate BEFORE TRUNCATE ON public.ledger_checkpoint FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_entry_no_change BEFORE DELETE OR UPDATE ON public.ledger_entry FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON public.ledger_entry FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_head_check BEFORE UPDATE ON public.ledger_head FOR EACH ROW EXECUTE FUNCTION ledger_head_check();
CREATE TRIGGER ledger_head_no_removal BEFORE DELETE ON public.ledger_head FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_head_no_truncate BEFORE TRUNCATE ON public.ledger_head FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_loss_check BEFORE INSERT ON public.ledger_loss FOR EACH ROW EXECUTE FUNCTION ledger_loss_check();
CREATE TRIGGER ledger_loss_no_change BEFORE DELETE OR UPDATE ON public.ledger_loss FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_loss_no_truncate BEFORE TRUNCATE ON public.ledger_loss FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_retention_no_change BEFORE DELETE OR UPDATE ON public.ledger_retention FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_retention_no_truncate BEFORE TRUNCATE ON public.ledger_retention FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_tile_no_change BEFORE DELETE OR UPDATE ON public.ledger_tile FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER ledger_tile_no_truncate BEFORE TRUNCATE ON public.ledger_tile FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER metered_record_no_change BEFORE DELETE OR UPDATE ON public.metered_record FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER metered_record_no_truncate BEFORE TRUNCATE ON public.metered_record FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER receipt_revision_check BEFORE INSERT ON public.receipt_revision FOR EACH ROW EXECUTE FUNCTION receipt_revision_check();
CREATE TRIGGER receipt_revision_no_change BEFORE DELETE OR UPDATE ON public.receipt_revision FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER receipt_revision_no_truncate BEFORE TRUNCATE ON public.receipt_revision FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER request_counts AFTER INSERT ON public.request REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION note_uncounted_requests();
CREATE TRIGGER sanctions_name_of_api AFTER INSERT ON public.sanctions_name REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION sanctions_name_of_api();

grant insert, select, update on account to docket_api;
grant insert, select, update on account to docket_housekeeping;
grant insert, select, update on account to docket_operator;
grant select on account to docket_purge;
grant insert, select on account_opening to docket_api;
grant select on account_transition to docket_api;
grant select on account_transition to docket_housekeeping;
grant select on account_transition to docket_operator;
grant select on account_transition to docket_purge;
grant select on anchor_cosignature to docket_api;
grant select on anchor_cosignature to docket_exports;
grant insert, select on anchor_cosignature to docket_ledger;
grant select on anchor_cosignature to docket_operator;
grant select on anchor_entry to docket_api;
grant select on anchor_entry to docket_exports;
grant insert, select on anchor_entry to docket_ledger;
grant select on anchor_entry to docket_operator;
grant select on anchor_epoch to docket_api;
grant select on anchor_epoch to docket_exports;
grant insert, select on anchor_epoch to docket_ledger;
grant select on anchor_epoch to docket_operator;
grant select on anchor_head to docket_api;
grant select on anchor_head to docket_exports;
grant insert, select on anchor_head to docket_ledger;
grant select on anchor_head to docket_operator;
grant delete, select on anchor_pending to docket_ledger;
grant insert, select on anchor_pending to docket_operator;
grant select on anchor_slot to docket_api;
grant select on anchor_slot to docket_exports;
grant insert, select on anchor_slot to docket_ledger;
grant select on anchor_slot to docket_operator;
grant select on anchor_source to docket_housekeeping;
grant insert, select, update on anchor_source to docket_ledger;
grant select on anchor_source to docket_operator;
grant select on anchor_timestamp to docket_api;
grant select on anchor_timestamp to docket_exports;
grant insert, select on anchor_timestamp to docket_ledger;
grant select on anchor_timestamp to docket_operator;
grant insert, select on api_key to docket_api;
grant select on api_key to docket_housekeeping;
grant insert, select on api_key to docket_operator;
grant delete, select on api_key to docket_purge;
grant select on audit_checkpoint to docket_api;
grant select on audit_checkpoint to docket_exports;
grant insert, select on audit_checkpoint to docket_ledger;
grant select on audit_checkpoint to docket_operator;
grant insert, select, update on audit_head to docket_api;
grant insert, select, update on audit_head to docket_exports;
grant insert, select, update on audit_head to docket_housekeeping;
grant select on audit_head to docket_ledger;
grant insert, select, update on audit_head to docket_operator;
grant insert, select, update on audit_head to docket_purge;
grant insert, select, update on audit_head to docket_recalculation;
grant insert, select on audit_log to docket_api;
grant insert, select on audit_log to docket_exports;
grant insert, select on audit_log to docket_housekeeping;
grant insert, select on audit_log to docket_operator;
grant insert, select on audit_log to docket_purge;
grant insert, select on audit_log to docket_recalculation;
grant delete, insert, select on budget to docket_api;
grant select on budget to docket_housekeeping;
grant select on budget to docket_operator;
grant select on budget_told to docket_api;
grant insert, select on budget_told to docket_housekeeping;
grant select on budget_told to docket_operator;
grant insert, select on contact_address to docket_api;
grant insert, select on contact_address to docket_housekeeping;
grant insert, select on contact_address to docket_operator;
grant insert, select on currency to docket_api;
grant select on currency to docket_housekeeping;
grant select on currency to docket_operator;
grant insert, select on currency to docket_receipts;
grant insert, select on declaration to docket_api;
grant select on declaration to docket_housekeeping;
grant insert, select on declaration to docket_operator;
grant select on declaration to docket_purge;
grant delete, insert, select, update on declaration_draft to docket_api;
grant delete, select on declaration_draft to docket_operator;
grant select on derivation to docket_api;
grant select on derivation to docket_exports;
grant select on derivation to docket_operator;
grant insert, select on derivation to docket_recalculation;
grant insert, select on derivation to docket_receipts;
grant insert, select on event to docket_api;
grant insert on event to docket_exports;
grant insert on event to docket_housekeeping;
grant insert on event to docket_ledger;
grant insert on event to docket_operator;
grant delete on event to docket_purge;
grant insert on event to docket_recalculation;
grant insert, select on export to docket_api;
grant delete, select, update on export to docket_exports;
grant select on export to docket_housekeeping;
grant insert, select on export to docket_operator;
grant insert, select on export_anchor to docket_exports;
grant insert, select on grid_day_open to docket_operator;
grant delete, select on grid_day_open to docket_recalculation;
grant insert, select on grid_hour to docket_operator;
grant select on grid_hour to docket_recalculation;
grant select on grid_hour to docket_receipts;
grant insert, select, update on grid_hour_due to docket_operator;
grant delete, insert, select, update on grid_hour_due to docket_recalculation;
grant insert, select, update on incident to docket_api;
grant insert, select, update on incident to docket_operator;
grant insert, select on incident_word to docket_api;
grant insert, select on incident_word to docket_operator;
grant delete, insert, select on kept_response to docket_api;
grant delete on kept_response to docket_housekeeping;
grant select on ledger_archive to docket_api;
grant select on ledger_archive to docket_exports;
grant insert, select on ledger_archive to docket_housekeeping;
grant select on ledger_archive to docket_operator;
grant select on ledger_archive to docket_recalculation;
grant select on ledger_archive_block to docket_api;
grant select on ledger_archive_block to docket_exports;
grant insert, select on ledger_archive_block to docket_housekeeping;
grant select on ledger_archive_block to docket_operator;
grant select on ledger_archive_block to docket_recalculation;
grant select on ledger_body to docket_api;
grant select on ledger_body to docket_exports;
grant select on ledger_body to docket_housekeeping;
grant select on ledger_body to docket_ledger;
grant select on ledger_body to docket_operator;
grant insert, select on ledger_body to docket_recalculation;
grant insert, select on ledger_body to docket_receipts;
grant select on ledger_checkpoint to docket_api;
grant select on ledger_checkpoint to docket_exports;
grant select on ledger_checkpoint to docket_housekeeping;
grant insert, select on ledger_checkpoint to docket_ledger;
grant select on ledger_checkpoint to docket_operator;
grant select on ledger_checkpoint to docket_recalculation;
grant select on ledger_entry to docket_api;
grant select on ledger_entry to docket_exports;
grant select on ledger_entry to docket_housekeeping;
grant insert, select on ledger_entry to docket_ledger;
grant select on ledger_entry to docket_operator;
grant select on ledger_entry to docket_recalculation;
grant select on ledger_entry to docket_receipts;
grant select on ledger_head to docket_api;
grant select on ledger_head to docket_exports;
grant select on ledger_head to docket_housekeeping;
grant insert, select, update on ledger_head to docket_ledger;
grant select on ledger_head to docket_operator;
grant select on ledger_head to docket_recalculation;
grant select on ledger_head to docket_receipts;
grant select on ledger_loss to docket_api;
grant select on ledger_loss to docket_exports;
grant select on ledger_loss to docket_ledger;
grant insert, select on ledger_loss to docket_operator;
grant select on ledger_quarantine to docket_api;
grant select on ledger_quarantine to docket_housekeeping;
grant insert, select on ledger_quarantine to docket_ledger;
grant delete, select on ledger_quarantine to docket_operator;
grant select on ledger_retention to docket_api;
grant select on ledger_retention to docket_exports;
grant select on ledger_retention to docket_operator;
grant delete, select on ledger_rewrite to docket_housekeeping;
grant select on ledger_tile to docket_api;
grant select on ledger_tile to docket_exports;
grant select on ledger_tile to docket_housekeeping;
grant insert, select on ledger_tile to docket_ledger;
grant select on ledger_tile to docket_operator;
grant select on ledger_tile to docket_recalculation;
grant insert on mail_outbox to docket_api;
grant insert on mail_outbox to docket_exports;
grant delete, insert, select, update on mail_outbox to docket_housekeeping;
grant insert on mail_outbox to docket_operator;
grant delete, insert on mail_outbox to docket_purge;
grant select on meter_reading to docket_operator;
grant delete on meter_reading to docket_purge;
grant delete, insert, select on meter_reading to docket_recalculation;
grant select on metered_record to docket_operator;
grant insert, select on metered_record to docket_recalculation;
grant select on metered_request to docket_operator;
grant delete on metered_request to docket_purge;
grant select, update on metered_request to docket_recalculation;
grant insert on metered_request to docket_receipts;
grant insert, select on recalculation to docket_api;
grant insert, select on recalculation to docket_operator;
grant delete, insert, select, update on recalculation to docket_recalculation;
grant insert on recalculation to docket_receipts;
grant select on receipt_figure to docket_api;
grant select on receipt_figure to docket_ledger;
grant select on receipt_figure to docket_operator;
grant select on receipt_pending to docket_api;
grant select on receipt_pending to docket_exports;
grant select on receipt_pending to docket_housekeeping;
grant delete, select on receipt_pending to docket_ledger;
grant insert, select on receipt_pending to docket_operator;
grant insert, select on receipt_pending to docket_recalculation;
grant insert, select on receipt_pending to docket_receipts;
grant select on receipt_revision to docket_api;
grant select on receipt_revision to docket_exports;
grant select on receipt_revision to docket_housekeeping;
grant select on receipt_revision to docket_ledger;
grant select on receipt_revision to docket_operator;
grant insert, select on receipt_revision to docket_recalculation;
grant insert, select on receipt_revision to docket_receipts;
grant insert, select on request to docket_api;
grant delete on request to docket_housekeeping;
grant select on request to docket_operator;
grant select on request_count to docket_api;
grant delete, insert, select, update on request_count to docket_housekeeping;
grant select on request_count to docket_operator;
grant delete, insert, select, update on request_failing to docket_housekeeping;
grant delete, select on request_uncounted to docket_housekeeping;
grant insert, select, update on restatement to docket_operator;
grant select, update on restatement to docket_recalculation;
grant insert, select, update on review to docket_api;
grant insert, select, update on review to docket_housekeeping;
grant insert, select, update on review to docket_operator;
grant select on review to docket_purge;
grant insert, select on review_approval to docket_api;
grant insert, select on review_approval to docket_operator;
grant insert, select on sanctions_list to docket_api;
grant select on sanctions_list to docket_housekeeping;
grant insert, select, update on sanctions_list to docket_operator;
grant insert, select on sanctions_name to docket_api;
grant select on sanctions_name to docket_housekeeping;
grant insert, select on sanctions_name to docket_operator;
grant select on schema_migration to docket_api;
grant select on schema_migration to docket_exports;
grant select on schema_migration to docket_housekeeping;
grant select on schema_migration to docket_ledger;
grant select on schema_migration to docket_operator;
grant select on schema_migration to docket_purge;
grant select on schema_migration to docket_recalculation;
grant select on schema_migration to docket_receipts;
grant insert, select on screening to docket_api;
grant insert, select on screening to docket_housekeeping;
grant insert, select on screening to docket_operator;
grant select on screening to docket_purge;
grant insert, select on sealed_pack to docket_exports;
grant insert, select on service_contract to docket_api;
grant select on service_contract to docket_housekeeping;
grant insert, select on service_contract to docket_operator;
grant select on service_contract to docket_purge;
grant delete, insert, select, update on status_day to docket_api;
grant select on status_day to docket_operator;
grant select on stored_answer to docket_api;
grant delete on stored_answer to docket_housekeeping;
grant insert on stored_answer to docket_receipts;
grant select on usage_day to docket_api;
grant select on usage_day to docket_exports;
grant select on usage_day to docket_housekeeping;
grant insert, select, update on usage_day to docket_ledger;
grant select on usage_day to docket_operator;
grant select on usage_hour to docket_api;
grant select on usage_hour to docket_exports;
grant insert, select, update on usage_hour to docket_ledger;
grant select on usage_hour to docket_operator;
grant select on usage_tag to docket_api;
grant insert, select on usage_tag to docket_ledger;
grant select on usage_tag to docket_operator;
grant select on usage_tag_day to docket_api;
grant select on usage_tag_day to docket_housekeeping;
grant insert, select, update on usage_tag_day to docket_ledger;
grant select on usage_tag_day to docket_operator;
grant select on usage_tag_hour to docket_api;
grant insert, select, update on usage_tag_hour to docket_ledger;
grant select on usage_tag_hour to docket_operator;
grant delete, insert, select on webhook_delivery to docket_api;
grant insert on webhook_delivery to docket_exports;
grant insert, select on webhook_delivery to docket_housekeeping;
grant insert on webhook_delivery to docket_ledger;
grant insert on webhook_delivery to docket_operator;
grant delete on webhook_delivery to docket_purge;
grant insert on webhook_delivery to docket_recalculation;
grant delete, insert, select on webhook_endpoint to docket_api;
grant select on webhook_endpoint to docket_housekeeping;

grant select (id, name, identifier) on account to docket_exports;
grant update (name, state, expires_at, revoked_at, last_used_at, leaked) on api_key to docket_api;
grant update (state, revoked_at, last_used_at) on api_key to docket_housekeeping;
grant update (name, state, expires_at, revoked_at, last_used_at, leaked) on api_key to docket_operator;
grant update (last_used_at) on api_key to docket_purge;
grant select (org_id, sequence, previous_hash, hash) on audit_log to docket_ledger;
grant update (name, limit_amount, mode, shares) on budget to docket_api;
grant select (org_id, scope, target, created_at) on budget to docket_ledger;
grant update (confirmed_at) on contact_address to docket_api;
grant update (confirmed_at) on contact_address to docket_operator;
grant select (org_id, once) on event to docket_api;
grant select (org_id, once) on event to docket_exports;
grant select (org_id, once) on event to docket_housekeeping;
grant select (org_id, once) on event to docket_ledger;
grant select (org_id, once) on event to docket_operator;
grant select (id, at) on event to docket_purge;
grant select (org_id, once) on event to docket_recalculation;
grant update (status, run_id, run_at, error_code, error_message, deleted_at) on export to docket_api;
grant update (status, run_id, run_at, error_code, error_message, deleted_at) on export to docket_operator;
grant update (anchor_size) on export_anchor to docket_exports;
grant update (zone) on grid_day_open to docket_recalculation;
grant update (expires_at) on kept_response to docket_api;
grant select (org_id, id, expires_at) on kept_response to docket_housekeeping;
grant update (halted_at, halt_reason) on ledger_head to docket_operator;
grant select (id, org_id, recipient, subject, once, created_at, attempts, next_attempt_at, sent_at, failed_at, failure, refused) on mail_outbox to docket_api;
grant update (attempts, next_attempt_at, failed_at) on mail_outbox to docket_api;
grant select (once) on mail_outbox to docket_exports;
grant select (org_id, recipient, once, created_at) on mail_outbox to docket_operator;
grant select (id, once, sent_at, failed_at) on mail_outbox to docket_purge;
grant select (endpoint, read_at) on meter_reading to docket_purge;
grant update (accelerators) on meter_reading to docket_purge;
grant select (receipt_id, ended_at, state) on metered_request to docket_purge;
grant update (weight) on metered_request to docket_purge;
grant update (state, attempts, due_at, flagged_at, requested_by, reason) on recalculation to docket_api;
grant update (state, attempts, due_at, flagged_at, requested_by, reason) on recalculation to docket_operator;
grant update (submitted_at) on receipt_pending to docket_ledger;
grant select (id, org_id) on request to docket_housekeeping;
grant update (published_on, entities, names, imported_by, imported_at, current, staged_at, preview) on sanctions_list to docket_api;
grant update (preview) on sanctions_list to docket_housekeeping;
grant select (claim, request_id, attempt, expires_at) on stored_answer to docket_housekeeping;
grant select (claim, request_id, attempt) on stored_answer to docket_receipts;
grant select (endpoint_id, once, next_attempt_at) on webhook_delivery to docket_api;
grant update (attempts, next_attempt_at, delivered_at) on webhook_delivery to docket_api;
grant select (endpoint_id, once, next_attempt_at) on webhook_delivery to docket_exports;
grant select (endpoint_id, once, next_attempt_at) on webhook_delivery to docket_housekeeping;
grant update (attempts, next_attempt_at, delivered_at, status, failure) on webhook_delivery to docket_housekeeping;
grant select (endpoint_id, once, next_attempt_at) on webhook_delivery to docket_ledger;
grant select (endpoint_id, once, next_attempt_at) on webhook_delivery to docket_operator;
grant select (id, created_at) on webhook_delivery to docket_purge;
grant select (endpoint_id, once, next_attempt_at) on webhook_delivery to docket_recalculation;
grant select (id, org_id, events, paused_at) on webhook_endpoint to docket_api;
grant update (address, description, events, secret, secret_before, secret_before_until, failing_since, paused_at, pause_reason) on webhook_endpoint to docket_api;
grant select (id, org_id, events, paused_at) on webhook_endpoint to docket_exports;
grant select (id, org_id, events, paused_at) on webhook_endpoint to docket_housekeeping;
grant update (failing_since, paused_at, pause_reason) on webhook_endpoint to docket_housekeeping;
grant select (id, org_id, events, paused_at) on webhook_endpoint to docket_ledger;
grant select (id, org_id, events, paused_at) on webhook_endpoint to docket_operator;
grant select (id, org_id, events, paused_at) on webhook_endpoint to docket_recalculation;

grant execute on function discard_sanctions_list(of_id bigint) to docket_api;
grant execute on function discard_sanctions_list(of_id bigint) to docket_housekeeping;
grant execute on function drop_request_partitions(kept_days integer) to docket_housekeeping;
grant execute on function ensure_ledger_partitions(months_ahead integer) to docket_housekeeping;
grant execute on function ensure_request_partitions(days_ahead integer) to docket_housekeeping;
grant execute on function newest_outcomes(of_org text, since timestamp with time zone, most integer) to docket_housekeeping;
grant execute on function rewrite_ledger_month(month timestamp with time zone, rows_max integer) to docket_housekeeping;

-- In the schema persons

create table command_line (
  token text not null,
  code text not null,
  place text not null,
  asked_at timestamp(3) with time zone not null,
  expires_at timestamp(3) with time zone not null,
  person_id text,
  allowed_at timestamp(3) with time zone,
  key_name text,
  key_days integer,
  constraint command_line_check CHECK (((person_id IS NULL) = (allowed_at IS NULL))),
  constraint command_line_code_check CHECK ((code ~ '^[B-Z]{8}$'::text)),
  constraint command_line_code_key UNIQUE (code),
  constraint command_line_key CHECK (((key_name IS NULL) = (key_days IS NULL))),
  constraint command_line_key_days_check CHECK (((key_days >= 1) AND (key_days <= 90))),
  constraint command_line_key_name_check CHECK (((length(key_name) >= 1) AND (length(key_name) <= 100))),
  constraint command_line_person_id_fkey FOREIGN KEY (person_id) REFERENCES persons.person(id) ON DELETE CASCADE,
  constraint command_line_pkey PRIMARY KEY (token),
  constraint command_line_place_check CHECK (((length(place) >= 1) AND (length(place) <= 400))),
  constraint command_line_token_check CHECK ((length(token) = 64))
);

create table invitation (
  org_id text not null,
  email text not null,
  role text not null,
  created_at timestamp(3) with time zone not null,
  expires_at timestamp(3) with time zone not null,
  constraint invitation_email_check CHECK (((email = lower(email)) AND (length(email) <= 254))),
  constraint invitation_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint invitation_pkey PRIMARY KEY (org_id, email),
  constraint invitation_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'auditor'::text])))
);

create table issuer_login (
  org_id text not null,
  issuer text not null,
  subject text not null,
  person_id text not null,
  created_at timestamp(3) with time zone not null,
  constraint issuer_login_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint issuer_login_person_id_fkey FOREIGN KEY (person_id) REFERENCES persons.person(id) ON DELETE CASCADE,
  constraint issuer_login_pkey PRIMARY KEY (org_id, issuer, subject),
  constraint issuer_login_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 255)))
);

create table login (
  person_id text not null,
  password text not null,
  updated_at timestamp(3) with time zone not null,
  constraint login_person_id_fkey FOREIGN KEY (person_id) REFERENCES persons.person(id) ON DELETE CASCADE,
  constraint login_pkey PRIMARY KEY (person_id)
);

create table membership (
  person_id text not null,
  org_id text not null,
  role text not null,
  created_at timestamp(3) with time zone not null,
  seen_event text not null default event_id_at(now()),
  constraint membership_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint membership_person_id_fkey FOREIGN KEY (person_id) REFERENCES persons.person(id) ON DELETE CASCADE,
  constraint membership_pkey PRIMARY KEY (person_id, org_id),
  constraint membership_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'auditor'::text]))),
  constraint membership_seen_event_check CHECK ((length(seen_event) <= 40))
);

create table passkey (
  id text not null,
  person_id text not null,
  name text not null,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  created_at timestamp(3) with time zone not null,
  last_used_at timestamp(3) with time zone,
  constraint passkey_id_check CHECK ((length(id) <= 1400)),
  constraint passkey_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint passkey_person_id_fkey FOREIGN KEY (person_id) REFERENCES persons.person(id) ON DELETE CASCADE,
  constraint passkey_pkey PRIMARY KEY (id)
);

create table person (
  id text not null,
  name text not null,
  email text not null,
  email_verified boolean not null default false,
  created_at timestamp(3) with time zone not null default now(),
  updated_at timestamp(3) with time zone not null default now(),
  two_factor_enabled boolean not null default false,
  constraint person_email_check CHECK (((email = lower(email)) AND (length(email) <= 254))),
  constraint person_email_key UNIQUE (email),
  constraint person_id_check CHECK ((id ~~ 'usr\_%'::text)),
  constraint person_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  constraint person_pkey PRIMARY KEY (id)
);

create unlogged table rate (
  name text not null,
  due_at timestamp with time zone not null,
  constraint rate_pkey PRIMARY KEY (name)
);

create table second_factor_rule (
  org_id text not null,
  required_at timestamp(3) with time zone not null,
  constraint second_factor_rule_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint second_factor_rule_pkey PRIMARY KEY (org_id)
);

create table session (
  id text not null,
  person_id text not null,
  token text not null,
  expires_at timestamp(3) with time zone not null,
  address text,
  user_agent text,
  created_at timestamp(3) with time zone not null,
  sso_org_id text,
  confirmed_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  constraint session_person_id_fkey FOREIGN KEY (person_id) REFERENCES persons.person(id) ON DELETE CASCADE,
  constraint session_pkey PRIMARY KEY (id),
  constraint session_sso_org_id_fkey FOREIGN KEY (sso_org_id) REFERENCES account(id),
  constraint session_token_key UNIQUE (token)
);

create table sign_in_domain (
  org_id text not null,
  domain text not null,
  claimed_at timestamp(3) with time zone not null,
  confirmed_at timestamp(3) with time zone,
  constraint sign_in_domain_domain_check CHECK (((domain = lower(domain)) AND (length(domain) <= 253))),
  constraint sign_in_domain_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint sign_in_domain_pkey PRIMARY KEY (org_id, domain)
);

create table single_sign_on (
  org_id text not null,
  issuer text not null,
  client_id text not null,
  client_secret text not null,
  role text not null,
  required boolean not null default false,
  worked_at timestamp(3) with time zone,
  changed_at timestamp(3) with time zone not null,
  constraint single_sign_on_client_id_check CHECK (((length(client_id) >= 1) AND (length(client_id) <= 500))),
  constraint single_sign_on_issuer_check CHECK ((length(issuer) <= 500)),
  constraint single_sign_on_org_id_fkey FOREIGN KEY (org_id) REFERENCES account(id),
  constraint single_sign_on_pkey PRIMARY KEY (org_id),
  constraint single_sign_on_role_check CHECK ((role = ANY (ARRAY['member'::text, 'auditor'::text])))
);

create table staff (
  person_id text not null,
  role text not null,
  created_at timestamp(3) with time zone not null,
  constraint staff_person_id_fkey FOREIGN KEY (person_id) REFERENCES persons.person(id) ON DELETE CASCADE,
  constraint staff_pkey PRIMARY KEY (person_id, role),
  constraint staff_role_check CHECK ((role = ANY (ARRAY['operator'::text, 'reviewer'::text])))
);

create table two_factor (
  person_id text not null,
  secret text not null,
  recovery_codes text[] not null,
  verified boolean not null default false,
  last_step integer,
  constraint two_factor_person_id_fkey FOREIGN KEY (person_id) REFERENCES persons.person(id) ON DELETE CASCADE,
  constraint two_factor_pkey PRIMARY KEY (person_id)
);

create table verification (
  identifier text not null,
  value text not null,
  expires_at timestamp(3) with time zone not null,
  constraint verification_pkey PRIMARY KEY (identifier)
);

CREATE INDEX command_line_by_expiry ON persons.command_line USING btree (expires_at);
CREATE INDEX command_line_by_person ON persons.command_line USING btree (person_id) WHERE (person_id IS NOT NULL);
CREATE INDEX invitation_by_email ON persons.invitation USING btree (email);
CREATE INDEX invitation_by_expiry ON persons.invitation USING btree (expires_at);
CREATE INDEX issuer_login_by_person ON persons.issuer_login USING btree (person_id);
CREATE INDEX membership_by_organisation ON persons.membership USING btree (org_id);
CREATE INDEX passkey_by_person ON persons.passkey USING btree (person_id);
CREATE INDEX person_unconfirmed ON persons.person USING btree (created_at) WHERE (NOT email_verified);
CREATE INDEX rate_by_due ON persons.rate USING btree (due_at);
CREATE INDEX session_by_expiry ON persons.session USING btree (expires_at);
CREATE INDEX session_by_person ON persons.session USING btree (person_id);
CREATE INDEX session_by_sso_organisation ON persons.session USING btree (sso_org_id) WHERE (sso_org_id IS NOT NULL);
CREATE UNIQUE INDEX sign_in_domain_confirmed ON persons.sign_in_domain USING btree (domain) WHERE (confirmed_at IS NOT NULL);

grant usage on schema persons to docket_api;
grant usage on schema persons to docket_housekeeping;
grant usage on schema persons to docket_operator;

grant delete, select on command_line to docket_api;
grant delete on command_line to docket_housekeeping;
grant delete, select on command_line to docket_operator;
grant delete, insert, select, update on invitation to docket_api;
grant delete on invitation to docket_housekeeping;
grant delete, insert, select on issuer_login to docket_api;
grant delete on issuer_login to docket_operator;
grant insert, select, update on login to docket_api;
grant insert on login to docket_operator;
grant delete, insert, select on membership to docket_api;
grant delete, insert, select, update on membership to docket_operator;
grant delete, insert, select on passkey to docket_api;
grant delete on passkey to docket_operator;
grant delete, insert, select on person to docket_api;
grant delete on person to docket_housekeeping;
grant insert, select on person to docket_operator;
grant delete, insert, select, update on rate to docket_api;
grant delete, insert, select on second_factor_rule to docket_api;
grant delete, insert, select, update on session to docket_api;
grant delete on session to docket_housekeeping;
grant delete on session to docket_operator;
grant delete, insert, select, update on sign_in_domain to docket_api;
grant delete, insert, select, update on single_sign_on to docket_api;
grant select on staff to docket_api;
grant delete, insert, select, update on staff to docket_operator;
grant delete, insert, select, update on two_factor to docket_api;
grant delete on two_factor to docket_operator;
grant delete, insert, select on verification to docket_api;
grant delete on verification to docket_housekeeping;
grant delete on verification to docket_operator;

grant update (expires_at, person_id, allowed_at) on command_line to docket_api;
grant select (expires_at) on command_line to docket_housekeeping;
grant insert (token, code, place, asked_at, expires_at, key_name, key_days) on command_line to docket_operator;
grant select (expires_at) on invitation to docket_housekeeping;
grant select (org_id, person_id) on issuer_login to docket_operator;
grant select (person_id) on login to docket_operator;
grant update (password, updated_at) on login to docket_operator;
grant update (role, seen_event) on membership to docket_api;
grant select (person_id, org_id, role) on membership to docket_housekeeping;
grant update (counter, last_used_at) on passkey to docket_api;
grant select (person_id) on passkey to docket_operator;
grant update (email_verified, updated_at, two_factor_enabled) on person to docket_api;
grant select (id, email, email_verified, created_at) on person to docket_housekeeping;
grant update (email_verified, updated_at, two_factor_enabled) on person to docket_operator;
grant select (expires_at) on session to docket_housekeeping;
grant select (id, person_id) on session to docket_operator;
grant select (person_id, role) on staff to docket_housekeeping;
grant select (person_id) on two_factor to docket_operator;
grant select (expires_at) on verification to docket_housekeeping;
grant select (value) on verification to docket_operator;
