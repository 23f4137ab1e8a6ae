/**
 * The tables as kysely sees them: written by "npm run schema:dump" from the migrated schema, never by hand.
 * A `bigint` and a `numeric` come back as text, `jsonb` is parsed, and a column with a set of values that its check
 * constraint lists has that set as its type.
 */
import type { ColumnType } from 'kysely';

/** The value may be left out of an insert. */
type Defaulted<T> = ColumnType<T, T | undefined, T>;
/** Comes back as text, because it may exceed what a number holds exactly. */
type Int8 = ColumnType<string, bigint | number | string, bigint | number | string>;
type DefaultedInt8 = ColumnType<string, bigint | number | string | undefined, bigint | number | string>;
type GeneratedInt8 = ColumnType<string, never, never>;
/** Goes in as JSON text, comes back parsed and unchecked. */
type Json = ColumnType<unknown, string, string>;

interface AccountTable {
  id: string;
  name: string;
  state: Defaulted<'onboarding' | 'declared' | 'screened' | 'in_review' | 'approved' | 'contracted' | 'active' | 'suspended' | 'rejected' | 'closed'>;
  plan: 'audit' | 'audit_plus' | 'enterprise';
  requests_per_second: number | null;
  burst: number | null;
  requests_per_day: Int8 | null;
  concurrent_streams: number | null;
  billing_name: string;
  billing_email: string;
  technical_name: string;
  technical_email: string;
  created_at: Date;
  state_changed_at: Date;
  identifier: string | null;
  allowed_regions: string[] | null;
  allowed_models: string[] | null;
  names_revision: Defaulted<number>;
  keep_responses: Defaulted<boolean>;
  tags: Defaulted<string[]>;
  legal_hold: Defaulted<boolean>;
  playground: Defaulted<boolean>;
}

interface AccountOpeningTable {
  person_id: string;
  name: Buffer;
  request: Buffer;
  org_id: string;
}

interface AccountTransitionTable {
  from_state: string;
  to_state: string;
}

interface AnchorCosignatureTable {
  size: Int8;
  witness: string;
  time: Date;
  line: string;
  stored_at: Defaulted<Date>;
}

interface AnchorEntryTable {
  index: Int8;
  leaf_hash: Buffer;
  body: Buffer;
}

interface AnchorEpochTable {
  index: Int8;
  secret: Buffer;
  at: Date;
}

interface AnchorHeadTable {
  org_id: string;
  index: Int8;
  size: Int8;
}

interface AnchorPendingTable {
  id: GeneratedInt8;
  key_id: string;
  purpose: string;
  from_index: Int8 | null;
  requested_at: Defaulted<Date>;
}

interface AnchorSlotTable {
  org_id: string;
  slot: number;
  assigned_at: Defaulted<Date>;
}

interface AnchorSourceTable {
  source: string;
  next_at: Defaulted<Date>;
  failures: Defaulted<number>;
  last_error: string | null;
}

interface AnchorTimestampTable {
  size: Int8;
  authority: string;
  time: Date;
  response: Buffer;
  stored_at: Defaulted<Date>;
}

interface ApiKeyTable {
  id: string;
  org_id: string;
  name: string;
  hash: Buffer;
  head: string;
  tail: string;
  state: Defaulted<'active' | 'revoked' | 'expired'>;
  scopes: string[];
  requests_per_second: number | null;
  burst: number | null;
  lineage_id: string;
  predecessor_id: string | null;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  leaked: Defaulted<boolean>;
  playground_of: string | null;
}

interface AuditCheckpointTable {
  log_id: string;
  size: Int8;
  hash: Buffer;
  note: string;
  signed_at: Defaulted<Date>;
}

interface AuditHeadTable {
  org_id: string;
  size: Int8;
  hash: Buffer;
}

interface AuditLogTable {
  org_id: string;
  sequence: Int8;
  id: string;
  at: Date;
  action: string;
  actor_kind: 'user' | 'key' | 'operator' | 'system';
  actor_id: string;
  address: string | null;
  subject: string | null;
  reason: string | null;
  details: string;
  previous_hash: Buffer;
  hash: Buffer;
}

interface BudgetTable {
  id: string;
  org_id: string;
  name: string;
  scope: 'organisation' | 'key' | 'model' | 'tag';
  target: string | null;
  measure: 'requests' | 'tokens' | 'energy' | 'gwp' | 'money';
  period: 'day' | 'month';
  limit_amount: string;
  mode: 'soft' | 'hard';
  shares: number[];
  created_at: Date;
}

interface BudgetToldTable {
  budget_id: string;
  period_start: Date;
  share: number;
  told_at: Date;
  letters: number;
}

interface ContactAddressTable {
  org_id: string;
  email: string;
  token_hash: Buffer | null;
  asked_at: Date;
  confirmed_at: Date | null;
}

interface CurrencyTable {
  code: string;
  one: Defaulted<boolean>;
}

interface DeclarationTable {
  id: GeneratedInt8;
  org_id: string;
  version: string;
  statements: Json;
  country: string;
  industry: string;
  trading_names: Defaulted<string[]>;
  declared_by: string;
  declared_at: Date;
  parties: Json;
}

interface DeclarationDraftTable {
  org_id: string;
  draft: Json;
  updated_at: Date;
}

interface DerivationTable {
  digest: string;
  body: Buffer;
}

interface EventTable {
  id: string;
  org_id: string;
  type: string;
  data: Json;
  once: string | null;
  at: Date;
}

interface ExportTable {
  id: string;
  org_id: string;
  status: Defaulted<'queued' | 'running' | 'ready' | 'failed' | 'expired'>;
  first_index: Int8;
  last_index: Int8;
  checkpoint_size: Int8;
  generation: Defaulted<number>;
  done: DefaultedInt8;
  run_id: string | null;
  run_at: Date | null;
  runs: Defaulted<number>;
  not_before: Date | null;
  is_attested: boolean | null;
  size_bytes: Int8 | null;
  sha256: string | null;
  error_code: string | null;
  error_message: string | null;
  created_at: Defaulted<Date>;
  started_at: Date | null;
  finished_at: Date | null;
  expires_at: Date | null;
  deleted_at: Date | null;
  removed_at: Date | null;
  period_from: Date | null;
  period_to: Date | null;
}

interface ExportAnchorTable {
  org_id: string;
  checkpoint_size: Int8;
  anchor_size: Int8;
}

interface GridDayOpenTable {
  day: Date;
  zone: string;
}

interface GridHourTable {
  zone: string;
  hour: Date;
  version: string;
  provider: string;
  signal: string;
  gwp: number;
  imported_at: Defaulted<Date>;
}

interface GridHourDueTable {
  zone: string;
  hour: Date;
  due_from: Defaulted<Date>;
}

interface IncidentTable {
  id: string;
  title: string;
  components: string[];
  began_at: Date;
  ended_at: Date | null;
}

interface IncidentWordTable {
  incident_id: string;
  at: Date;
  text: string;
}

interface KeptResponseTable {
  org_id: string;
  id: string;
  previous: string | null;
  sealed: Buffer;
  bytes: ColumnType<number, never, never>;
  items: string[] | null;
  expires_at: Date;
}

interface LedgerArchiveTable {
  org_id: string;
  first_id: string;
  last_id: string;
  receipts: number;
  object: string;
  bytes: Int8;
  archived_at: Defaulted<Date>;
  removed_at: Date | null;
  dropped_at: Date | null;
}

interface LedgerArchiveBlockTable {
  org_id: string;
  first_id: string;
  last_id: string;
  receipts: number;
  object: string;
  start: Int8;
  bytes: number;
}

interface LedgerBodyTable {
  entry_id: string;
  org_id: string;
  kind: 'inference' | 'degraded' | 'failed' | 'refused' | 'recalculated' | 'restated';
  supersedes: string | null;
  key_id: string | null;
  model: string | null;
  region: string | null;
  tier: string | null;
  route: string | null;
  outcome: string | null;
  issued_at: Date;
  input_tokens: Int8 | null;
  cached_input_tokens: Int8 | null;
  output_tokens: Int8 | null;
  energy_kwh: number | null;
  gwp_kgco2e: number | null;
  water_l: number | null;
  adpe_kgsbe: number | null;
  adpf_mj: number | null;
  leaf_hash: Buffer;
  body: Buffer | null;
  refusal_rule: string | null;
  bounds: number[] | null;
  data_quality: string | null;
  tags: string[] | null;
  cost: string | null;
}

interface LedgerCheckpointTable {
  org_id: string;
  size: Int8;
  root: Buffer;
  note: string;
  signed_at: Date;
  cose_protected: Buffer | null;
  cose_signature: Buffer | null;
}

interface LedgerEntryTable {
  org_id: string;
  index: Int8;
  entry_id: string;
  kind: string;
  leaf_hash: Buffer;
  supersedes: string | null;
  integrated_at: Date;
}

interface LedgerHeadTable {
  org_id: string;
  size: Int8;
  root: Buffer;
  frontier: Buffer;
  integrated_at: Date;
  checkpoint_size: DefaultedInt8;
  checkpoint_at: Date | null;
  halted_at: Date | null;
  halt_reason: string | null;
  usage_size: DefaultedInt8;
}

interface LedgerLossTable {
  log_id: string;
  generation: number;
  kept_size: Int8;
  note: string;
  declared_at: Defaulted<Date>;
}

interface LedgerQuarantineTable {
  entry_id: string;
  org_id: string;
  kind: string;
  supersedes: string | null;
  leaf_hash: Buffer;
  submitted_at: Date;
  quarantined_at: Defaulted<Date>;
  reason: string;
  detail: string | null;
}

interface LedgerRetentionTable {
  first_id: string;
  end_id: string;
  dropped_at: Defaulted<Date>;
}

interface LedgerRewriteTable {
  partition: string;
  copied_to: Defaulted<string>;
}

interface LedgerTileTable {
  org_id: string;
  level: number;
  index: Int8;
  root: Buffer;
  hashes: Buffer;
}

interface MailOutboxTable {
  id: GeneratedInt8;
  org_id: string | null;
  recipient: string;
  subject: string;
  body: string;
  once: string | null;
  created_at: Date;
  attempts: Defaulted<number>;
  next_attempt_at: Date;
  sent_at: Date | null;
  failed_at: Date | null;
  failure: string | null;
  refused: Defaulted<boolean>;
  link_path: string | null;
}

interface MeterReadingTable {
  endpoint: string;
  read_at: Date;
  accelerators: Json;
}

interface MeteredRecordTable {
  digest: string;
  endpoint: string;
  from_at: Date;
  to_at: Date;
  energy_uj: string | null;
  idle_uj: string | null;
  body: Buffer;
}

interface MeteredRequestTable {
  receipt_id: string;
  org_id: string;
  endpoint: string;
  began_at: Date;
  ended_at: Date;
  weight: Int8;
  state: Defaulted<'waiting' | 'attributed' | 'measured' | 'unmeasured'>;
  metered_from: Date | null;
  energy_uj: Defaulted<string>;
  revision_id: string | null;
}

interface RecalculationTable {
  receipt_id: string;
  org_id: string;
  state: Defaulted<'pending' | 'parked'>;
  attempts: Defaulted<number>;
  created_at: Defaulted<Date>;
  due_at: Defaulted<Date>;
  flagged_at: Date | null;
  failed_at: Date | null;
  stage: string | null;
  code: string | null;
  basis: string | null;
  requested_by: string | null;
  reason: string | null;
}

interface ReceiptPendingTable {
  entry_id: string;
  org_id: string;
  kind: string;
  supersedes: string | null;
  leaf_hash: Buffer;
  submitted_at: Defaulted<Date>;
}

interface ReceiptRevisionTable {
  original_id: string;
  revision_id: string;
  org_id: string;
  created_at: Defaulted<Date>;
  first_id: string;
}

interface RequestTable {
  id: string;
  org_id: string;
  key_id: string;
  route: string | null;
  status: number;
  code: string | null;
  model: string | null;
  requested_model: string | null;
  region: string | null;
  streamed: boolean | null;
  has_receipt: boolean;
  replay_of: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  queued_ms: number | null;
  first_ms: number | null;
  total_ms: number;
  upstream_calls: number | null;
  requests: Defaulted<number>;
  last_ms: number | null;
  tags: string[] | null;
  network: string | null;
}

interface RequestCountTable {
  org_id: string;
  by: 'all' | 'model' | 'region' | 'key' | 'tag' | 'code';
  step: 'hour' | 'day';
  at: Date;
  name: string;
  requests: Int8;
  refused: Int8;
  failed: Int8;
  gone: Int8;
  total_times: number[] | null;
  first_times: number[] | null;
  queued_times: number[] | null;
}

interface RequestFailingTable {
  org_id: string;
  since: Date;
  until: Date;
}

interface RequestUncountedTable {
  org_id: string;
  at: Date;
  key_id: string;
  model: string | null;
  region: string | null;
  code: string | null;
  tags: string[] | null;
  outcome: 'answered' | 'refused' | 'failed' | 'gone';
  requests: Int8;
  total_ms: number[] | null;
  first_ms: number[] | null;
  queued_ms: number[] | null;
}

interface RestatementTable {
  org_id: string;
  requested_by: string;
  requested_at: Defaulted<Date>;
  after_id: string;
  end_id: string;
  examined: DefaultedInt8;
  restated: DefaultedInt8;
  skipped: DefaultedInt8;
  finished_at: Date | null;
  reason: string | null;
}

interface ReviewTable {
  id: string;
  sequence: GeneratedInt8;
  org_id: string;
  screening_id: string | null;
  reason: string;
  opened_at: Date;
  decision: 'approved' | 'rejected' | null;
  decided_by: string | null;
  decided_at: Date | null;
  note: string | null;
}

interface ReviewApprovalTable {
  review_id: string;
  screening_id: string;
  approved_by: string;
  approved_at: Date;
  note: string;
}

interface SanctionsListTable {
  id: GeneratedInt8;
  source: 'ofac_sdn' | 'eu' | 'un' | 'opensanctions';
  version: string;
  file_name: string;
  published_on: string | null;
  entities: number;
  names: number;
  imported_by: string;
  imported_at: Date;
  current: Defaulted<boolean>;
  staged_at: Date | null;
  preview: Json | null;
}

interface SanctionsNameTable {
  list_id: Int8;
  ordinal: number;
  entity_id: string;
  name: string;
  kind: 'person' | 'organisation' | 'other';
  weak: boolean;
  programme: string;
  countries: string[];
}

interface ScreeningTable {
  id: string;
  sequence: GeneratedInt8;
  org_id: string;
  cause: 'onboarding' | 'list_import' | 'operator';
  outcome: 'clear' | 'flagged' | 'hit';
  lists: Json;
  reasons: Json;
  duration_ms: number;
  screened_at: Date;
  declaration_id: Int8 | null;
  contract_id: Int8 | null;
  names_revision: number;
}

interface SealedPackTable {
  org_id: string;
  seal: string;
  name: string;
  first_index: Int8;
  last_index: Int8;
  checkpoint_size: Int8;
  generation: number;
  totals: string;
  sealed_at: Defaulted<Date>;
}

interface ServiceContractTable {
  id: GeneratedInt8;
  org_id: string;
  kind: 'pilot' | 'service';
  document_sha256: Buffer;
  signatory: string;
  signed_at: Date;
  recorded_by: string;
  recorded_at: Date;
}

interface StatusDayTable {
  day: Date;
  component: string;
  found: Json;
  looked_at: Date;
}

interface StoredAnswerTable {
  claim: string;
  request_id: string;
  attempt: number;
  packed: Buffer;
  expires_at: Date;
}

interface UsageDayTable {
  org_id: string;
  at: Date;
  model: string;
  region: string;
  key_id: string;
  tier: string;
  quality: string;
  first_index: Int8;
  last_index: Int8;
  refused: Int8;
  failed: Int8;
  covered: Int8;
  uncovered: Int8;
  input_tokens: string;
  cached_input_tokens: string;
  output_tokens: string;
  uncovered_input_tokens: string;
  uncovered_cached_input_tokens: string;
  uncovered_output_tokens: string;
  energy: string;
  energy_lower: string;
  energy_upper: string;
  gwp: string;
  gwp_lower: string;
  gwp_upper: string;
  water: string;
  water_lower: string;
  water_upper: string;
  adpe: string;
  adpe_lower: string;
  adpe_upper: string;
  adpf: string;
  adpf_lower: string;
  adpf_upper: string;
  priced: DefaultedInt8;
  cost: Defaulted<string>;
}

type UsageHourTable = UsageDayTable;

interface UsageTagTable {
  org_id: string;
  at: Date;
  tag: string;
  value: string;
}

interface UsageTagDayTable extends UsageHourTable {
  tag: string;
  value: string;
}

type UsageTagHourTable = UsageTagDayTable;

interface WebhookDeliveryTable {
  id: string;
  endpoint_id: string;
  org_id: string;
  type: string;
  body: string;
  once: string | null;
  created_at: Date;
  attempts: Defaulted<number>;
  next_attempt_at: Date | null;
  delivered_at: Date | null;
  status: number | null;
  failure: string | null;
}

interface WebhookEndpointTable {
  id: string;
  org_id: string;
  address: string;
  description: string;
  events: string[];
  secret: string;
  secret_before: string | null;
  secret_before_until: Date | null;
  created_at: Date;
  failing_since: Date | null;
  paused_at: Date | null;
  pause_reason: 'gone' | 'failing' | null;
}

interface PersonsCommandLineTable {
  token: string;
  code: string;
  place: string;
  asked_at: Date;
  expires_at: Date;
  person_id: string | null;
  allowed_at: Date | null;
  key_name: string | null;
  key_days: number | null;
}

interface PersonsInvitationTable {
  org_id: string;
  email: string;
  role: 'owner' | 'admin' | 'member' | 'auditor';
  created_at: Date;
  expires_at: Date;
}

interface PersonsIssuerLoginTable {
  org_id: string;
  issuer: string;
  subject: string;
  person_id: string;
  created_at: Date;
}

interface PersonsLoginTable {
  person_id: string;
  password: string;
  updated_at: Date;
}

interface PersonsMembershipTable {
  person_id: string;
  org_id: string;
  role: 'owner' | 'admin' | 'member' | 'auditor';
  created_at: Date;
  seen_event: Defaulted<string>;
}

interface PersonsPasskeyTable {
  id: string;
  person_id: string;
  name: string;
  public_key: Buffer;
  counter: Int8;
  transports: string[];
  created_at: Date;
  last_used_at: Date | null;
}

interface PersonsPersonTable {
  id: string;
  name: string;
  email: string;
  email_verified: Defaulted<boolean>;
  created_at: Defaulted<Date>;
  updated_at: Defaulted<Date>;
  two_factor_enabled: Defaulted<boolean>;
}

interface PersonsRateTable {
  name: string;
  due_at: Date;
}

interface PersonsSecondFactorRuleTable {
  org_id: string;
  required_at: Date;
}

interface PersonsSessionTable {
  id: string;
  person_id: string;
  token: string;
  expires_at: Date;
  address: string | null;
  user_agent: string | null;
  created_at: Date;
  sso_org_id: string | null;
  confirmed_at: Date | null;
  last_used_at: Date | null;
}

interface PersonsSignInDomainTable {
  org_id: string;
  domain: string;
  claimed_at: Date;
  confirmed_at: Date | null;
}

interface PersonsSingleSignOnTable {
  org_id: string;
  issuer: string;
  client_id: string;
  client_secret: string;
  role: 'member' | 'auditor';
  required: Defaulted<boolean>;
  worked_at: Date | null;
  changed_at: Date;
}

interface PersonsStaffTable {
  person_id: string;
  role: 'operator' | 'reviewer';
  created_at: Date;
}

interface PersonsTwoFactorTable {
  person_id: string;
  secret: string;
  recovery_codes: string[];
  verified: Defaulted<boolean>;
  last_step: number | null;
}

interface PersonsVerificationTable {
  identifier: string;
  value: string;
  expires_at: Date;
}

export interface Database {
  account: AccountTable;
  account_opening: AccountOpeningTable;
  account_transition: AccountTransitionTable;
  anchor_cosignature: AnchorCosignatureTable;
  anchor_entry: AnchorEntryTable;
  anchor_epoch: AnchorEpochTable;
  anchor_head: AnchorHeadTable;
  anchor_pending: AnchorPendingTable;
  anchor_slot: AnchorSlotTable;
  anchor_source: AnchorSourceTable;
  anchor_timestamp: AnchorTimestampTable;
  api_key: ApiKeyTable;
  audit_checkpoint: AuditCheckpointTable;
  audit_head: AuditHeadTable;
  audit_log: AuditLogTable;
  budget: BudgetTable;
  budget_told: BudgetToldTable;
  contact_address: ContactAddressTable;
  currency: CurrencyTable;
  declaration: DeclarationTable;
  declaration_draft: DeclarationDraftTable;
  derivation: DerivationTable;
  event: EventTable;
  export: ExportTable;
  export_anchor: ExportAnchorTable;
  grid_day_open: GridDayOpenTable;
  grid_hour: GridHourTable;
  grid_hour_due: GridHourDueTable;
  incident: IncidentTable;
  incident_word: IncidentWordTable;
  kept_response: KeptResponseTable;
  ledger_archive: LedgerArchiveTable;
  ledger_archive_block: LedgerArchiveBlockTable;
  ledger_body: LedgerBodyTable;
  ledger_checkpoint: LedgerCheckpointTable;
  ledger_entry: LedgerEntryTable;
  ledger_head: LedgerHeadTable;
  ledger_loss: LedgerLossTable;
  ledger_quarantine: LedgerQuarantineTable;
  ledger_retention: LedgerRetentionTable;
  ledger_rewrite: LedgerRewriteTable;
  ledger_tile: LedgerTileTable;
  mail_outbox: MailOutboxTable;
  meter_reading: MeterReadingTable;
  metered_record: MeteredRecordTable;
  metered_request: MeteredRequestTable;
  recalculation: RecalculationTable;
  receipt_pending: ReceiptPendingTable;
  receipt_revision: ReceiptRevisionTable;
  request: RequestTable;
  request_count: RequestCountTable;
  request_failing: RequestFailingTable;
  request_uncounted: RequestUncountedTable;
  restatement: RestatementTable;
  review: ReviewTable;
  review_approval: ReviewApprovalTable;
  sanctions_list: SanctionsListTable;
  sanctions_name: SanctionsNameTable;
  screening: ScreeningTable;
  sealed_pack: SealedPackTable;
  service_contract: ServiceContractTable;
  status_day: StatusDayTable;
  stored_answer: StoredAnswerTable;
  usage_day: UsageDayTable;
  usage_hour: UsageHourTable;
  usage_tag: UsageTagTable;
  usage_tag_day: UsageTagDayTable;
  usage_tag_hour: UsageTagHourTable;
  webhook_delivery: WebhookDeliveryTable;
  webhook_endpoint: WebhookEndpointTable;
  'persons.command_line': PersonsCommandLineTable;
  'persons.invitation': PersonsInvitationTable;
  'persons.issuer_login': PersonsIssuerLoginTable;
  'persons.login': PersonsLoginTable;
  'persons.membership': PersonsMembershipTable;
  'persons.passkey': PersonsPasskeyTable;
  'persons.person': PersonsPersonTable;
  'persons.rate': PersonsRateTable;
  'persons.second_factor_rule': PersonsSecondFactorRuleTable;
  'persons.session': PersonsSessionTable;
  'persons.sign_in_domain': PersonsSignInDomainTable;
  'persons.single_sign_on': PersonsSingleSignOnTable;
  'persons.staff': PersonsStaffTable;
  'persons.two_factor': PersonsTwoFactorTable;
  'persons.verification': PersonsVerificationTable;
}
