-- What operators and reviewers need on record beside what was there.

-- The rule that blocked a refused request. It is on no receipt and in no answer: who knows the rule tries words until
-- none is found. Support looks it up here.
alter table ledger_body add column refusal_rule text;

-- Who asked for a recalculation, and why: the revision carries the reason, the audit log both.
alter table recalculation add column requested_by text, add column reason text;
alter table restatement add column reason text;
grant update (requested_by, reason) on recalculation to docket_api, docket_operator;

-- Those who own and run an applicant: [{role, name, country}].
alter table declaration add column parties jsonb not null default '[]';

-- What a vetting compared: the declaration as it was corrected last, and the contract that names the signatory. Vettings
-- from before have neither, so everyone is compared once more.
alter table screening add column declaration_id bigint references declaration (id);
alter table screening add column contract_id bigint references service_contract (id);

-- Keys of the plan audit do not expire. A change of plan ends what was set; these were set before it did.
grant update (expires_at) on api_key to docket_api, docket_operator;
update api_key k set expires_at = null
from account a
where a.id = k.org_id and a.plan = 'audit' and k.state = 'active' and k.expires_at > now();
