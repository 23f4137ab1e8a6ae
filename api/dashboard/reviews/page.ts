import { html, type Html } from '#api/html.ts';
import type { Account, Declaration } from '#shared/accounts/account.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import { INDUSTRIES, STATEMENTS } from '#shared/accounts/declaration.ts';
import type { ListEntry } from '#shared/accounts/postgres/vetting.ts';
import { HIT_SCORE, LOOK_SCORE } from '#shared/accounts/sanctions/assess.ts';
import type { ImportedList } from '#shared/accounts/sanctions/listed.ts';
import {
  VETTED_STATES,
  type RecordedVetting,
  type Review,
  type Risk,
  type Vetting,
} from '#shared/accounts/vetting.ts';
import type { Page } from '#shared/kernel/page.ts';
import { day } from '#shared/kernel/time.ts';
import { counted } from '#shared/methodology/readable.ts';
import { actsTable } from '../accounts/page.ts';
import { countryName } from '../parts/countries.ts';
import { act as actOf, type Frame } from '../parts/layout.ts';
import {
  badge,
  empty,
  facts,
  moment,
  note,
  shortId,
  shortMoment,
  table,
  textArea,
  told,
} from '../parts/elements.ts';

const ADDRESS = '/dashboard/service/reviews';
/** Longer ones do not fit an entry of the audit log. */
const NOTE_LENGTH_MAX = 500;

export interface ReviewsParts {
  page: Page<Review>;
  after: string | undefined;
  /** Open ones, oldest first, or those that are decided, newest first. */
  isOpen: boolean;
}

/** The queue: what the screening has left to a person. */
export function reviewsPage(frame: Frame, { page, after, isOpen }: ReviewsParts): Html {
  const query = isOpen ? '' : 'show=decided&';
  return html`<div class="head"><h1>Reviews</h1></div>
    <nav class="row" aria-label="Which reviews">
      ${isOpen ? html`<strong>Open</strong>` : html`<a href="${ADDRESS}">Open</a>`}
      ${isOpen ? html`<a href="${ADDRESS}?show=decided">Decided</a>` : html`<strong>Decided</strong>`}
    </nav>
    ${page.items.length === 0 && after === undefined ? nothingHere(isOpen) : queue(frame, page.items, isOpen)}
    <p class="row">
      ${
        after === undefined
          ? undefined
          : html`<a href="${ADDRESS}?${isOpen ? '' : 'show=decided'}">From the beginning</a>`
      }
      ${
        page.hasMore
          ? html`<a href="${ADDRESS}?${query}after=${page.items.at(-1)!.id}"
              >${isOpen ? 'Newer reviews' : 'Older reviews'}</a
            >`
          : undefined
      }
    </p>`;
}

const nothingHere = (isOpen: boolean): Html =>
  empty(
    isOpen ? 'No review is open' : 'No review was decided yet',
    'Applicants whose screening was not clear wait here for a person to decide, longest first; so do accounts that a new list names.',
  );

function queue(frame: Frame, reviews: readonly Review[], isOpen: boolean): Html {
  return table(
    'Reviews',
    [
      'Organisation',
      'Risk',
      isOpen ? 'Approved' : 'Decision',
      'Account',
      'Why',
      isOpen ? 'Waiting since' : 'Decided',
    ],
    reviews.map(
      (review) =>
        html`<tr>
          <th scope="row" class="clip name" title="${review.organisationName}">
            <a href="${ADDRESS}/${review.id}">${review.organisationName}</a>
          </th>
          <td>${riskBadge(review.risk)}</td>
          <td class="nowrap" data-head="${isOpen ? 'Approved' : 'Decision'}">
            ${isOpen ? approvalsOf(review) : decisionBadge(review)}
          </td>
          <td class="nowrap" data-head="Account">${review.accountState.replace('_', ' ')}</td>
          <td class="clip" title="${review.reason}">${review.reason}</td>
          <td data-head="${isOpen ? 'Waiting since' : 'Decided'}">
            ${shortMoment(isOpen ? review.openedAt : review.decidedAt!, frame.now)}
          </td>
        </tr>`,
    ),
    'stacked',
  );
}

function riskBadge(risk: Risk): Html {
  return risk === 'high' ? badge('bad', 'high: needs two') : badge('plain', 'normal');
}

function decisionBadge({ decision }: Review): Html {
  return decision === 'approved' ? badge('good', 'approved') : badge('bad', 'rejected');
}

function approvalsOf({ risk, approvals }: Review): string {
  return `${approvals.length} of ${risk === 'high' ? 2 : 1}`;
}

export interface ReviewParts {
  review: Review;
  account: Account;
  declaration: Declaration | null;
  /** What the review shows; null where none is on record. */
  vetting: RecordedVetting | null;
  entries: readonly ListEntry[];
  /** Every list that was imported. */
  lists: readonly ImportedList[];
  /** Whether another screening is to be expected: of a corrected declaration, or of newer lists. */
  isStale: boolean;
  history: readonly AuditEntry[];
  /** Names of persons by id. */
  names: ReadonlyMap<string, string>;
  /** Why the reader cannot decide, where that is so. */
  mayNot?: string | undefined;
  open?: string;
  problem?: string;
  typed?: string;
  done?: string;
}

/** Everything that a decision rests on, side by side. */
export function reviewPage(frame: Frame, parts: ReviewParts): Html {
  const { review, account } = parts;
  return html`<div class="head">
      <p class="crumb"><a href="${ADDRESS}">Reviews</a></p>
      <h1>${account.name}</h1>
      ${riskBadge(review.risk)}
      ${review.decision === null ? badge('warn', 'open') : decisionBadge(review)}
    </div>
    ${told(parts)}
    ${
      parts.isStale && review.decision === null && VETTED_STATES.includes(account.state)
        ? note(
            'warn',
            'The declaration, a name or a list has changed since this screening. A new screening follows automatically, normally within a minute, and this page will show it; decisions on this one are then refused.',
          )
        : undefined
    }
    ${verdictOf(frame, parts)}
    <div class="sides">
      <div class="stack">
        ${applicantFacts(frame, parts)} ${screenedNames(parts)} ${answers(parts)}
      </div>
      <div class="stack">${findings(parts)} ${screeningFacts(frame, parts)}</div>
    </div>
    ${history(frame, parts)}`;
}

/** What was decided, or what can be. */
function verdictOf(frame: Frame, parts: ReviewParts): Html {
  const { review, names } = parts;
  const nameOf = (id: string): string => names.get(id) ?? id;
  if (review.decision !== null) {
    const { decision, decidedBy, decidedAt, note: why } = review;
    return note(
      decision === 'approved' ? 'good' : 'bad',
      html`<p>
        <strong>${decision === 'approved' ? 'Approved' : 'Rejected'}</strong> by
        ${nameOf(decidedBy ?? 'nobody')}, ${moment(decidedAt!, frame.now)}
      </p>`,
      ...review.approvals.map(
        (approval) => html`<p>${nameOf(approval.by)} approved before: ${approval.note}</p>`,
      ),
      html`<p>${why ?? ''}</p>`,
    );
  }
  const mine = review.approvals.some(({ by }) => by === frame.person.id);
  return html`<section class="stack tight" aria-label="Decision">
    ${review.approvals.map(({ by, at, note: why }) => note('plain', html`<p><strong>Approved</strong> by ${nameOf(by)}, ${moment(at, frame.now)}; it takes effect when a second person approves.</p>`, html`<p>${why}</p>`))}
    ${parts.mayNot === undefined ? decisionForms(frame, parts, mine) : note('plain', parts.mayNot)}
  </section>`;
}

function decisionForms(frame: Frame, parts: ReviewParts, mine: boolean): Html {
  const { review, account } = parts;
  const needsSecond = review.risk === 'high' && review.approvals.length === 0;
  const inReview = account.state === 'in_review';
  const isSuspended = account.state === 'suspended';
  const stays = `The account stays ${account.state}`;
  return html`<div class="acts-of-two">
    ${
      mine
        ? note(
            'plain',
            'You have approved this. A second reviewer must approve it too; until then you can still reject it.',
          )
        : decisionForm(frame, parts, {
            decision: 'approved',
            label: 'Approve',
            effect: needsSecond
              ? 'The risk is high: this is the first of two approvals. Nothing changes until another reviewer has approved the same screening.'
              : inReview
                ? 'The application moves on to the contract, and its contacts get an e-mail. The listed parties found here will not be held against this organisation again.'
                : `${stays}${isSuspended ? ': an operator can reinstate it then' : ''}. Listed parties that were met here are not held against it again.`,
          })
    }
    ${decisionForm(frame, parts, {
      decision: 'rejected',
      label: 'Reject',
      effect: inReview
        ? 'The application ends, and its contacts get an e-mail. This cannot be undone: the organisation would have to apply again.'
        : `${stays}${isSuspended ? ' and cannot be reinstated on this review' : ''}.`,
    })}
  </div>`;
}

function decisionForm(
  frame: Frame,
  { review, vetting, open, typed }: ReviewParts,
  act: { decision: 'approved' | 'rejected'; label: string; effect: string },
): Html {
  const isOpen = open === act.decision;
  const name = `${act.decision}-note`;
  const approves = act.decision === 'approved';
  return actOf(
    frame,
    {
      summary: `${act.label}…`,
      isOpen,
      action: `${ADDRESS}/${review.id}/decide`,
      button: `${act.label} ${approves ? 'this screening' : 'the applicant'}`,
      tone: approves ? 'primary' : 'danger',
    },
    html`<input type="hidden" name="decision" value="${act.decision}" />
      <input type="hidden" name="screening" value="${vetting?.id ?? ''}" />
      <p class="prose">${act.effect}</p>
      ${textArea({ name, label: 'Reason', value: isOpen ? (typed ?? '') : '', max: String(NOTE_LENGTH_MAX), help: 'The audit log keeps it, with your name and the screening shown here.' })}`,
  );
}

function applicantFacts(frame: Frame, { account, declaration, review }: ReviewParts): Html {
  return html`<section class="stack tight">
    <h2>Applicant</h2>
    ${facts([
      ['Organisation', html`${account.name}<br />${shortId(account.id)}`],
      ['State, plan', html`${account.state.replace('_', ' ')}, ${account.plan.replace('_', ' ')}`],
      ['Applied', moment(account.createdAt, frame.now)],
      ['In review since', moment(review.openedAt, frame.now)],
      ['Established in', declaration === null ? undefined : countryName(declaration.country)],
      [
        'Industry',
        declaration === null
          ? undefined
          : html`${declaration.industry.replaceAll('_', ' ')}
            ${INDUSTRIES[declaration.industry] === 'high' ? badge('warn', 'looked at by a person') : undefined}`,
      ],
    ])}
  </section>`;
}

interface Screened {
  name: string;
  as: string;
}

/** Every name that is compared, and what it is to the applicant. */
function screenedOf({ account, declaration, vetting }: ReviewParts): Screened[] {
  const all: Screened[] = [{ name: account.name, as: 'organisation' }];
  for (const name of declaration?.tradingNames ?? []) all.push({ name, as: 'trading name' });
  for (const { name, role, country } of declaration?.parties ?? []) {
    all.push({ name, as: `${role}, ${countryName(country)}` });
  }
  all.push(
    { name: account.billing.name, as: 'billing contact' },
    { name: account.technical.name, as: 'technical contact' },
  );
  if (declaration !== null) all.push({ name: declaration.declaredBy, as: 'declared' });
  // A signatory is known by the vetting alone, when something was found.
  for (const { name } of vetting?.reasons ?? []) {
    if (name !== undefined && !all.some((known) => known.name === name)) {
      all.push({ name, as: 'compared in this screening' });
    }
  }
  const names = [...new Set(all.map(({ name }) => name))];
  return names.map((name) => ({
    name,
    as: all
      .filter((one) => one.name === name)
      .map((one) => one.as)
      .join('; '),
  }));
}

function screenedNames(parts: ReviewParts): Html {
  const { vetting } = parts;
  const compared = vetting?.lists.length ?? 0;
  return html`<section class="stack tight">
    <h2>Names of the application</h2>
    ${table(
      'Names of the application',
      ['Name', 'As', 'Found'],
      screenedOf(parts).map(({ name, as }) => {
        const scores = (vetting?.reasons ?? [])
          .filter((reason) => reason.name === name)
          .map(({ score }) => score);
        return html`<tr>
          <th scope="row" class="wrap" dir="auto">${name}</th>
          <td class="wrap">${as}</td>
          <td class="nowrap" data-head="Found">
            ${
              compared === 0
                ? html`<span class="soft">not compared</span>`
                : scores.length === 0
                  ? html`<span class="soft"
                      >${parts.isStale ? 'nothing before the change' : 'nothing'}</span
                    >`
                  : badge(
                      'warn',
                      `${scores.length === 1 ? '1 entry' : `${scores.length} entries, up to`} ${Math.max(...scores).toFixed(2)}`,
                    )
            }
          </td>
        </tr>`;
      }),
      'stacked',
    )}
    <p class="help">
      ${
        compared === 0
          ? vetting === null
            ? 'Not compared: no screening is on record.'
            : 'Not compared: no list had been imported when this was screened.'
          : `Nothing: no name of the ${counted(compared, 'list')} that ${compared === 1 ? 'was' : 'were'} compared is as similar as ${LOOK_SCORE}. Of a listed party only the most similar name stands here.`
      }
    </p>
  </section>`;
}

function answers({ declaration }: ReviewParts): Html {
  if (declaration === null) {
    return note('warn', 'There is no declaration on record.');
  }
  return html`<section class="stack tight">
    <h2>Declaration ${declaration.version}</h2>
    <p class="soft small">Declared by ${declaration.declaredBy}</p>
    ${table(
      'Answers of the declaration',
      ['Statement', 'Answer'],
      (STATEMENTS[declaration.version] ?? []).map(({ id, text, expected }) => {
        const answer = declaration.statements[id];
        const word = answer === true ? 'yes' : answer === false ? 'no' : 'none';
        return html`<tr>
          <td class="wrap">${text}</td>
          <td class="nowrap">
            ${answer === expected ? word : badge('bad', `${word}: a question`)}
          </td>
        </tr>`;
      }),
    )}
  </section>`;
}

/** Each reason, with the entry of the list that it is about. */
function findings({ vetting, entries, lists, review }: ReviewParts): Html {
  return html`<section class="stack tight">
    <h2>What was found</h2>
    ${
      vetting === null || vetting.reasons.length === 0
        ? html`<p class="soft">
            ${
              vetting === null
                ? review.reason
                : `This screening found nothing: ${counted(vetting.lists.length, 'list')} compared, and the answers of the declaration.`
            }
          </p>`
        : vetting.reasons.map((reason) =>
            finding(
              reason,
              entries.find(({ entity }) => entity === reason.entity),
              lists,
            ),
          )
    }
  </section>`;
}

const KIND_WORDS: Readonly<Record<Vetting['reasons'][number]['kind'], string>> = {
  list_match: 'Listed name',
  country: 'Country',
  industry: 'Industry',
  statement: 'Statement',
  no_list: 'No list',
};

function finding(
  { kind, score, text }: Vetting['reasons'][number],
  entry: ListEntry | undefined,
  lists: readonly ImportedList[],
): Html {
  return html`<article class="finding">
    <h3>
      ${KIND_WORDS[kind]}
      ${
        kind === 'list_match'
          ? html`<span class="score"
              >score ${score.toFixed(3)}
              <meter
                min="0.8"
                max="1"
                low="${LOOK_SCORE}"
                high="${HIT_SCORE}"
                optimum="0.8"
                value="${score}"
                aria-hidden="true"
              ></meter
            ></span>`
          : undefined
      }
    </h3>
    <p dir="auto">${text}</p>
    ${entry === undefined ? undefined : listEntry(entry, lists)}
  </article>`;
}

function listEntry(entry: ListEntry, lists: readonly ImportedList[]): Html {
  const { entity, version, names, kind, programme } = entry;
  const source = entity.slice(0, entity.indexOf(':'));
  const list = lists.find((one) => one.source === source && one.version === version);
  const shown = names.slice(0, NAMES_SHOWN_MAX);
  return html`<dl class="facts dense">
    <dt>Entry</dt>
    <dd>
      <code>${entity}</code> ${kind === null ? undefined : html`<span class="soft">${kind}</span>`}
    </dd>
    <dt>Its names</dt>
    <dd>
      ${
        names.length === 0
          ? html`<span class="soft">The list no longer holds this entry.</span>`
          : shown.map(
              ({ name, weak }) =>
                html`<span dir="auto">${name}</span>${
                    weak ? html` <span class="soft small">weak alias</span>` : undefined
                  }<br />`,
            )
      }
      ${
        names.length > shown.length
          ? html`<span class="soft">and ${names.length - shown.length} more</span>`
          : undefined
      }
    </dd>
    <dt>Programme</dt>
    <dd>
      ${programme === null || programme === '' ? html`<span class="soft">none named</span>` : programme}
    </dd>
    <dt>List</dt>
    <dd>${listWords(source, version, list)}</dd>
  </dl>`;
}

/** A party with more aliases is known by the first of them. */
const NAMES_SHOWN_MAX = 30;

function listWords(source: string, version: string, list: ImportedList | undefined): Html {
  const state =
    list === undefined
      ? badge('warn', 'not kept any more')
      : list.current
        ? badge('good', 'current')
        : badge('warn', 'superseded');
  const published = list?.publishedOn ?? null;
  return html`${source} <code title="${version}">${version.slice(0, 12)}</code> ${state}
    ${published === null ? undefined : html`<br /><span class="soft small">published ${dayWords(published)}</span>`}`;
}

/** A day as people read it; what a list gives for one, and is none, as it stands there. */
function dayWords(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) ? text : day(at);
}

/** When the list says that it was published. */
export function publishedWords(list: Pick<ImportedList, 'publishedOn'> | undefined): Html | string {
  const published = list?.publishedOn ?? null;
  return published === null ? html`<span class="soft">not said</span>` : dayWords(published);
}

function screeningFacts(frame: Frame, { vetting, lists }: ReviewParts): Html | undefined {
  if (vetting === null) return undefined;
  const ageOf = (source: string, version: string): ImportedList | undefined =>
    lists.find((one) => one.source === source && one.version === version);
  return html`<section class="stack tight">
    <h2>Screening</h2>
    ${facts([
      ['Id', shortId(vetting.id)],
      ['Screened', moment(vetting.screenedAt, frame.now)],
      ['Because of', CAUSES[vetting.cause]],
      ['Outcome', vetting.outcome],
    ])}
    <h3>Lists that were compared</h3>
    ${
      vetting.lists.length === 0
        ? note(
            'warn',
            'No list had been imported, so no name was compared. Operators import lists with docket sanctions import.',
          )
        : table(
            'Lists that were compared',
            ['List', 'Published', 'Imported'],
            vetting.lists.map(({ source, version }) => {
              const list = ageOf(source, version);
              return html`<tr>
                <th scope="row" class="wrap">
                  ${listWords(source, version, list && { ...list, publishedOn: null })}
                </th>
                <td class="nowrap">${publishedWords(list)}</td>
                <td>${list === undefined ? undefined : shortMoment(list.importedAt, frame.now)}</td>
              </tr>`;
            }),
          )
    }
  </section>`;
}

const CAUSES: Readonly<Record<Vetting['cause'], string>> = {
  onboarding: 'the application',
  list_import: 'a new list',
  operator: 'an operator',
};

function history(frame: Frame, { history: entries, names }: ReviewParts): Html {
  return html`<section class="stack tight">
    <h2>What happened before</h2>
    ${actsTable(frame, entries, names)}
  </section>`;
}
