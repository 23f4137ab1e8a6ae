import { html, type Html } from '#api/html.ts';
import type { Account, AccountState, DeclarationDraft } from '#shared/accounts/account.ts';
import { COUNTRIES } from '#shared/accounts/checks.ts';
import { DECLARATION_VERSION, INDUSTRIES, STATEMENTS } from '#shared/accounts/declaration.ts';
import { PLAN_LIMITS, PLANS, type Plan } from '#shared/kernel/plan.ts';
import { may } from '#shared/persons/roles.ts';
import { countryName } from '../parts/countries.ts';
import { limitWords } from '../parts/figures.ts';
import { type Frame, token } from '../parts/layout.ts';
import { badge, choice, choices, empty, field, moment, note, progress } from '../parts/elements.ts';

/** What was wrong with a form: the field, or none for the whole of it, and the message. */
export interface Problem {
  field: string | null;
  message: string;
}

const STEPS = ['Organisation', 'Owners', 'Use of service', 'Screening', 'Contract', 'First key'];

/** Which step an account is at; a declaration has two. */
const STEP_OF: Readonly<Record<AccountState, number>> = {
  onboarding: 1,
  declared: 3,
  screened: 3,
  in_review: 3,
  rejected: 3,
  approved: 4,
  contracted: 4,
  active: 5,
  suspended: 5,
  closed: 5,
};

/** A problem at the top of a form, leading to its field. */
function problemNote(problem: Problem | undefined): Html | undefined {
  if (problem === undefined) return undefined;
  return note(
    'bad',
    html`<p><strong>Nothing was saved.</strong></p>
      <p>
        ${
          problem.field === null
            ? problem.message
            : html`<a href="#${problem.field}">${problem.message}</a>`
        }
      </p>`,
  );
}

export interface ApplyParts {
  /** What was typed before, by the names of the fields. */
  typed: Readonly<Record<string, string>>;
  problem?: Problem;
}

/** The first step: there is an organisation. */
export function applyPage(frame: Frame, { typed, problem }: ApplyParts): Html {
  const valueOf = (name: string, fallback = ''): string => typed[name] ?? fallback;
  const errorOf = (name: string): string | undefined =>
    problem?.field === name ? problem.message : undefined;
  const contact = (kind: 'billing' | 'technical', legend: string, help: string): Html =>
    html`<fieldset class="stack tight">
      <legend>${legend}</legend>
      <p class="help">${help}</p>
      ${field({ name: `${kind}-name`, label: 'Name', value: valueOf(`${kind}-name`, frame.person.name), required: true, max: '200' })}
      ${field({ name: kind, label: 'E-mail', type: 'email', value: valueOf(kind, frame.person.email), required: true, max: '254', error: errorOf(kind) })}
    </fieldset>`;
  return html`<div class="head"><h1>Apply for an organisation</h1></div>
    ${progress(STEPS, 0)} ${problemNote(problem)}
    <p class="prose">
      Accounts belong to organisations. Tell us about yours, its owners and directors, and what you
      will use the service for; the names are compared with sanctions lists, and then a contract is
      signed. You can stop after each step and continue later. Most applicants are screened within a
      minute.
    </p>
    <form class="form wide" method="post" action="/dashboard/apply">
      ${token(frame)}
      ${field({ name: 'name', label: 'Legal name of the organisation', value: valueOf('name'), required: true, max: '200', autocomplete: 'organization', error: errorOf('name'), help: 'As it is registered: this name is screened and appears in the contract.' })}
      <fieldset>
        <legend>Plan</legend>
        ${choices(
          'radio',
          'plan',
          PLANS.map((plan) => ({
            value: plan,
            words: PLAN_NAMES[plan],
            help: planWords(plan),
            isChosen: valueOf('plan', 'audit') === plan,
          })),
        )}
        <p class="help">Support can change it later.</p>
      </fieldset>
      ${contact('billing', 'Billing contact', 'Gets e-mails about the account.')}
      ${contact('technical', 'Technical contact', 'Gets e-mails about keys and about the account.')}
      <div class="row">
        <button class="primary" type="submit">Save and continue to owners</button>
      </div>
    </form>`;
}

const PLAN_NAMES: Readonly<Record<Plan, string>> = {
  audit: 'Audit',
  audit_plus: 'Audit Plus',
  enterprise: 'Enterprise',
};

function planWords(plan: Plan): string {
  const text = limitWords(PLAN_LIMITS[plan]);
  return plan === 'enterprise' ? `${text}, or as negotiated.` : `${text}.`;
}

export interface OnboardingParts {
  account: Account;
  draft: DeclarationDraft | null;
  /** Which part of the declaration is shown; the next one to fill in when absent. */
  part?: 'owners' | 'statements';
  /** Rows for owners and directors. */
  rows?: number;
  answers?: Readonly<Record<string, boolean>>;
  declaredBy?: string;
  problem?: Problem;
  /** Where an existing key is, and where one is made. */
  hasKeys: boolean;
}

/** The page of an organisation that is not active yet: where it stands, and what is to be done. */
export function onboardingPage(frame: Frame, parts: OnboardingParts): Html {
  const { account, draft, problem } = parts;
  const isOwners =
    account.state === 'onboarding' &&
    (parts.part ?? (draft === null ? 'owners' : 'statements')) === 'owners';
  const isDone = account.state === 'active' && parts.hasKeys;
  const step =
    account.state === 'onboarding' && !isOwners
      ? 2
      : isDone
        ? STEPS.length
        : STEP_OF[account.state];
  return html`<div class="head">
      <h1>${account.name}</h1>
      ${stateBadge(account.state)}
    </div>
    ${progress(STEPS, step)} ${problemNote(problem)}
    ${
      account.state === 'onboarding'
        ? may(frame.membership!, 'apply for the organisation')
          ? isOwners
            ? ownersForm(frame, parts)
            : statementsForm(frame, parts, draft!)
          : empty(
              'The declaration is being filled in',
              'An owner or admin of your organisation is filling it in.',
            )
        : whatNext(frame, parts)
    }`;
}

function stateBadge(state: AccountState): Html {
  if (state === 'active') return badge('good', 'active');
  if (state === 'rejected' || state === 'suspended') return badge('bad', state);
  return badge('warn', state.replace('_', ' '));
}

function address(frame: Frame): string {
  return `/dashboard/${frame.membership!.orgId}/onboarding`;
}

/** Empty rows that are offered beside those that are filled in. */
const ROWS_MIN = 3;

function ownersForm(frame: Frame, { draft, rows, problem }: OnboardingParts): Html {
  const errorOf = (name: string): string | undefined =>
    problem?.field === name ? problem.message : undefined;
  const parties = draft?.parties ?? [];
  const rowCount = Math.max(ROWS_MIN, parties.length + 1, rows ?? 0);
  const industryError = errorOf('industry');
  return html`<form class="form wide" method="post" action="${address(frame)}/owners">
    ${token(frame)}
    <datalist id="countries">
      ${COUNTRIES.map((code) => html`<option value="${countryName(code)}"></option>`)}
    </datalist>
    ${countryField('country', 'Country of establishment', draft?.country ?? '', errorOf('country'))}
    <div class="field">
      <label for="industry">Industry</label>
      <select
        id="industry"
        name="industry"
        required
        ${industryError === undefined ? undefined : html`aria-invalid="true" aria-describedby="industry-error"`}
      >
        <option value="">Choose one</option>
        ${Object.keys(INDUSTRIES).map(
          (industry) =>
            html`<option
              value="${industry}"
              ${draft?.industry === industry ? html`selected` : undefined}
            >
              ${industry.replaceAll('_', ' ')}
            </option>`,
        )}
      </select>
      ${industryError === undefined ? undefined : html`<p class="error" id="industry-error">${industryError}</p>`}
    </div>
    <div class="field">
      <label for="trading_names">Trading names (optional)</label>
      <textarea
        id="trading_names"
        name="trading_names"
        rows="2"
        aria-describedby="trading_names-help"
      >
${(draft?.tradingNames ?? []).join('\n')}</textarea>
      <p class="help" id="trading_names-help">One per line: every name that it is known by.</p>
    </div>
    <fieldset class="stack tight" id="parties">
      <legend>Owners and directors</legend>
      <p class="help">
        Everyone who owns a quarter or more of it or sits on its board, named as in their passports;
        an owner may be a company. They are compared with sanctions lists. Empty rows are ignored.
      </p>
      ${errorOf('parties') === undefined ? undefined : html`<p class="error">${errorOf('parties')}</p>`}
      ${Array.from({ length: rowCount }, (_, index) => {
        const party = parties[index];
        return html`<div class="party" role="group" aria-label="Person ${index + 1}">
          ${field({ name: `party-${index}`, label: 'Name', value: party?.name ?? '', max: '200' })}
          ${choice({ name: `role-${index}`, label: 'Role' }, party?.role, [
            ['director', 'director'],
            ['owner', 'owner'],
          ])}
          ${countryField(`country-${index}`, 'Nationality', party?.country ?? '', errorOf(`country-${index}`))}
        </div>`;
      })}
      <div><button type="submit" name="more" value="${rowCount + 3}">Add three rows</button></div>
    </fieldset>
    <div class="row">
      <button class="primary" type="submit">Save and continue to the statements</button>
    </div>
  </form>`;
}

function countryField(name: string, label: string, code: string, error: string | undefined): Html {
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      list="countries"
      autocomplete="off"
      maxlength="100"
      value="${COUNTRIES.includes(code) ? countryName(code) : code}"
      ${error === undefined ? undefined : html`aria-invalid="true" aria-describedby="${name}-error"`}
    />
    ${error === undefined ? undefined : html`<p class="error" id="${name}-error">${error}</p>`}
  </div>`;
}

function statementsForm(
  frame: Frame,
  { account, answers, declaredBy, problem }: OnboardingParts,
  draft: DeclarationDraft,
): Html {
  const { parties, country, industry } = draft;
  return html`<p class="prose">
      ${account.name}, ${countryName(country)}, ${industry.replaceAll('_', ' ')};
      ${parties.length === 1 ? 'one owner or director' : `${parties.length} owners and directors`}:
      ${parties.map(({ name }) => name).join(', ')}.
      <a href="${address(frame)}?part=owners">Change</a>
    </p>
    <form class="form wide" method="post" action="${address(frame)}/declaration">
      ${token(frame)}
      <input type="hidden" name="version" value="${DECLARATION_VERSION}" />
      <section class="stack" id="statements">
        <h2>Use-of-service declaration, version ${DECLARATION_VERSION}</h2>
        <p class="prose help">
          Answer truthfully. A person looks at every yes; a yes alone does not end an application.
        </p>
        ${(STATEMENTS[DECLARATION_VERSION] ?? []).map(
          ({ id, text }) =>
            html`<fieldset class="statement">
              <legend>${text}</legend>
              <div class="row">
                ${[true, false].map(
                  (yes) =>
                    html`<label class="row"
                      ><input
                        type="radio"
                        name="answer-${id}"
                        value="${yes ? 'yes' : 'no'}"
                        required
                        ${answers?.[id] === yes ? html`checked` : undefined}
                      />${yes ? 'Yes' : 'No'}</label
                    >`,
                )}
              </div>
            </fieldset>`,
        )}
      </section>
      ${field({ name: 'declared_by', label: 'Declared by', value: declaredBy ?? frame.person.name, required: true, max: '200', error: problem?.field === 'declared_by' ? problem.message : undefined, help: 'Your full name. You make this declaration for the organisation.' })}
      ${note('plain', 'This makes the declaration. The application is then screened, and you can no longer change the answers here; support can correct them while a person is reviewing it.')}
      <div class="row">
        <button class="primary" type="submit">Declare and apply</button>
      </div>
    </form>`;
}

/** What happens now, who does it, and how long it takes. */
function whatNext(frame: Frame, { account, hasKeys }: OnboardingParts): Html {
  const since = html`<span class="soft">Since ${moment(account.stateChangedAt, frame.now)}.</span>`;
  const again = html`<a class="button" href="${address(frame)}">Look again</a>`;
  const keys = `/dashboard/${frame.membership!.orgId}/keys`;
  // Owners read what its contacts, who may be others, have not confirmed to get.
  const told =
    frame.membership!.role === 'owner'
      ? 'You or its contacts get an e-mail'
      : 'Its contacts or owners get an e-mail';
  switch (account.state) {
    case 'declared':
    case 'screened':
      return empty(
        'Your application is being screened',
        `Its names are compared with the sanctions lists automatically. This normally takes less than half a minute. ${told} with the outcome.`,
        again,
      );
    case 'in_review':
      return empty(
        'A person is reviewing your application',
        `The screening raised a question. A reviewer will read your application, typically the same day, sometimes later. You need not do anything. ${told} with the outcome.`,
        since,
      );
    case 'approved':
      return empty(
        'Your application is approved: the contract is next',
        `We send the contract to your billing contact. Once both sides have signed it, your account becomes active. ${told}.`,
        since,
      );
    case 'contracted':
      return empty(
        'The contract is signed',
        `The person who signed is screened as well, normally within half a minute, and then an operator makes your account active. ${told}.`,
        since,
      );
    case 'rejected':
      return empty(
        'Your application is not approved',
        html`After review we cannot offer you the service. Write to
          <a href="mailto:${frame.supportEmail}">${frame.supportEmail}</a> if you believe that this
          is wrong.`,
        since,
      );
    case 'suspended':
      return empty(
        'Your account is suspended',
        'Requests are refused and no keys are issued until the review is over. Support will tell you what is needed.',
        html`<a class="button" href="${keys}">Go to keys</a>`,
      );
    case 'active':
    case 'closed':
    case 'onboarding':
      break;
  }
  return html`<div class="empty">
    <h2>${hasKeys ? 'You are all set' : 'Your account is active'}</h2>
    <p class="prose">
      ${
        hasKeys
          ? 'Your first key has been created. Every answer to a request with a key carries a signed receipt.'
          : may(frame.membership!, 'issue keys')
            ? 'Create your first key. It is shown once, with examples for curl, Python and TypeScript that you can paste and run.'
            : 'Its first key is next: an owner or admin creates it.'
      }
    </p>
    ${
      hasKeys || !may(frame.membership!, 'issue keys')
        ? html`<a class="button" href="${keys}">Go to keys</a>`
        : html`<form method="post" action="${keys}">
            ${token(frame)}<input type="hidden" name="name" value="First key" />
            ${['inference:read', 'inference:write', 'service:read'].map(
              (scope) => html`<input type="hidden" name="scope" value="${scope}" />`,
            )}
            <button class="primary" type="submit">Create the first key</button>
          </form>`
    }
  </div>`;
}
