import { row, type Section } from './section.ts';

const NARROW = 'refuses a key with every scope but %s, where that is the one';
const scope = (name: string, grants: string) =>
  row(`\`${name}\`: ${grants}.`, {
    'api/errors': [NARROW],
    'unit/keys/authorize': ['refuses every scope that the key lacks'],
  });

export const SCOPES_SECTION: Section = {
  title: 'Scopes',
  about: 'What a key may do. Each operation demands one scope, and `/openapi.json` names it.',
  rows: [
    scope('inference:read', 'list models, query model metadata'),
    scope('inference:write', 'chat completions, completions, embeddings'),
    scope('service:read', 'fetch receipts, list ledger entries'),
    scope('service:lineage', 'the full methodology lineage of a receipt'),
    scope('service:export', 'bulk export as an evidence pack'),
    scope('admin:keys', 'issue and revoke other keys'),
    row('The default set is `inference:read`, `inference:write`, `service:read`.', {
      'unit/keys/rules': ['is the default set when no scope is named'],
    }),
    row(
      '`service:lineage`, `service:export` and `admin:keys` are for Audit Plus and Enterprise only.',
      {
        'unit/keys/rules': ['never goes beyond the plan'],
        'api/keys': ['400: a scope or expiry beyond the plan'],
      },
    ),
    row('A key with `admin:keys` cannot grant `admin:keys`, nor revoke itself.', {
      'unit/keys/rules': ['is not admin:keys when a key grants'],
      'stores/keys/registry': [
        'a key revokes others, not itself, and makes and restores no administrators',
      ],
      'api/keys': ['400: a key cannot revoke itself'],
    }),
    row('A route without a scope cannot be added.', {
      'api/authentication': ['a route that declares no scope stops the start'],
    }),
  ],
};

export const KEYS_SECTION: Section = {
  title: 'API keys and their states',
  about: '`active`, `revoked`, `expired`, and then gone.',
  rows: [
    row('The plaintext is shown exactly once, at issue; only a hash is kept.', {
      'api/keys': ['201: shows the key once, working at once, and never again'],
      'stores/keys/registry': ['never stores the plaintext, only its SHA-256'],
      'faults/secrets': [
        'no log, no store and no metric holds a key, a password or a word of a prompt',
      ],
    }),
    row('A key begins `active`.', {
      'api/keys': ['201: shows the key once, working at once, and never again'],
    }),
    row('`active` → `revoked` at any time; requests then fail with `revoked_api_key`.', {
      'api/keys': ['rotate → revoke → restore, each answer and each entry of the audit log'],
      'api/errors': ['refuses a revoked key as revoked_api_key'],
    }),
    row('A revocation holds on every process within a second, within five if its notice is lost.', {
      'faults/revocation': [
        'a key revoked through one is refused by the other within a second, and within five when notices are lost',
      ],
      'unit/api/auth/credential-cache-interleavings': [
        'under any interleaving, once a notice of a change has come the old state is never seen',
      ],
    }),
    row('Each revocation is in the audit log, with the revoking actor.', {
      'api/keys': ['rotate → revoke → restore, each answer and each entry of the audit log'],
      'unit/accounts/audit-chain': ['betrays any change to any field of any entry'],
    }),
    row('`active` → `expired` when its expiry passes; requests then fail with `expired_api_key`.', {
      'api/errors': ['refuses an expired key as expired_api_key'],
      'unit/keys/authorize': ['expires by the clock alone, at the very millisecond'],
    }),
    row('Only keys of Audit Plus and Enterprise expire.', {
      'unit/keys/rules': ['expires on audit_plus and enterprise only, within ten years'],
    }),
    row('A revocation can be undone for 90 days; then the hashed record is deleted.', {
      'unit/keys/lifecycle': [
        'revocation is reversible for 90 days to the millisecond, and purged from then on',
      ],
      'stores/keys/registry': [
        'with the clock moved: 89 days restore, 90 gone, and the audit log still tells the story',
      ],
      'workers/housekeeping/housekeeping': [
        'deletes what was revoked 90 days ago as soon as it runs',
      ],
    }),
    row('There are no other transitions.', {
      'unit/keys/lifecycle': [
        'takes only the arrows of the specification, whatever is tried in whatever order',
      ],
      'stores/keys/registry': [
        'moves at the SQL prompt only along its arrows, and disappears only after a revocation',
      ],
    }),
    row('A rotation successor inherits the scopes of its predecessor unless others are named.', {
      'unit/keys/rules': [
        'inherits name, scopes and limit, not the expiry',
        'takes what is specified instead',
      ],
      'stores/keys/registry': [
        'a rotation keeps lineage, scopes and limits, and leaves the predecessor active',
      ],
    }),
  ],
};

export const AUTHENTICATION_SECTION: Section = {
  title: 'Authentication and accounts',
  about: 'Who is let in, and the gates before a first key.',
  rows: [
    row('Every request carries `Authorization: Bearer <key>`.', {
      'api/errors': ['refuses %s as invalid_api_key'],
      'api/authentication': ['takes the scheme in any case'],
      'api/authorization-fuzz': ['failure case 29: no Authorization header gets anywhere but 401'],
    }),
    row('A wrong checksum is refused without a look-up.', {
      'unit/api/auth/credential-cache': ['refuses a wrong checksum without asking'],
      'unit/keys/format': ['with any one character changed is refused without a look-up'],
    }),
    row(
      'Keys are issued after account creation, declaration, screening, review where flagged, and contract, in this order.',
      {
        'unit/accounts/machine': [
          'lets nobody become active past a gate, whatever is tried in whatever order',
          'reaches every state on the way of the specification',
        ],
        'stores/accounts/machine': [
          'agrees with the machine at every step of any sequence of acts, and never offers a key past a gate',
        ],
        'cli/accounts': [
          'leads a flagged applicant through review and contract to a key, each step refused before its time',
        ],
      },
    ),
    row('Applicants are screened automatically, normally within a second.', {
      'workers/housekeeping/housekeeping': [
        'screens an applicant within a second of being asked, writes letters, makes partitions, expires keys, and stops when told to',
      ],
    }),
    row('A flagged applicant waits for a person.', {
      'stores/accounts/sanctions-import': [
        'leads a harmless applicant to approved and a listed one to review, by the job alone',
      ],
    }),
    row('Rotation: a new key, then its traffic is seen, then the old one is revoked.', {
      'api/keys': ['rotate → revoke → restore, each answer and each entry of the audit log'],
      'api/authentication': ['notes the last use, in a batch'],
    }),
    row('A key can be revoked by support, without the dashboard.', {
      'cli/accounts': ['revokes a leaked key from standard input, by itself or by its hash'],
    }),
    row('A suspended account is refused with `customer_suspended`.', {
      'api/errors': ['refuses a suspended customer as customer_suspended'],
      'api/propagation': ['suspension, reinstatement, plan and limits reach both'],
    }),
    row('A store that is away is `internal_error`, never an auth error.', {
      'unit/api/auth/credential-cache': [
        'keeps cached keys working while the store is down, and says internal_error of others',
      ],
    }),
    row('What is another organisation’s does not exist.', {
      'api/errors': ['is not found, by the same words as what does not exist'],
      'stores/ledger/reader': ['stay within their organisation'],
    }),
  ],
};
