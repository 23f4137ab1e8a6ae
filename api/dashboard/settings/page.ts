import { html, type Html } from '#api/html.ts';
import type { Account, Allowed, Contact, ServiceContract } from '#shared/accounts/account.ts';
import { limitsOf } from '#shared/accounts/account.ts';
import { TAG_KEYS_MAX, TAG_VALUES_A_DAY_MAX } from '#shared/kernel/tags.ts';
import { day } from '#shared/kernel/time.ts';
import { counted } from '#shared/methodology/readable.ts';
import { may } from '#shared/persons/roles.ts';
import { NOTE_LENGTH_MAX } from '../forms.ts';
import { limitWords } from '../parts/figures.ts';
import { form as formOf, type Frame } from '../parts/layout.ts';
import {
  badge,
  choices,
  facts,
  field,
  note,
  textArea,
  told,
  type Told,
} from '../parts/elements.ts';

/** A region or a model that is open to the organisation, or that it has chosen once. */
export interface Choice {
  /** The code of a region, the id of a model. */
  id: string;
  name: string;
  /** What there is to know of it in few words. */
  help?: string;
  /** Why it is of no use now. */
  warning?: string | undefined;
}

/** The forms of the page, by the last part of their address. */
export type SettingsForm = 'names' | 'contacts' | 'use' | 'tags' | 'keep' | 'playground' | 'close';

export interface SettingsParts extends Told {
  account: Account;
  /** Addresses of contacts that have not confirmed that they want letters. */
  unconfirmed: readonly string[];
  /** Days in which owners of a closed organisation still read what is left of it. */
  closedReadDays: number;
  contract: ServiceContract | null;
  regions: readonly Choice[];
  models: readonly Choice[];
  /** The form whose fields were not taken, and what was typed. */
  typed?: { form: SettingsForm; name: (field: string) => string; allowed?: Allowed };
}

/** What an organisation decides itself, and what was agreed with it. */
export function settingsPage(frame: Frame, parts: SettingsParts): Html {
  const changes = may(frame.membership!, 'change settings');
  return html`<div class="head"><h1>Settings</h1></div>
    ${told(parts)} ${use(frame, parts, changes)} ${names(frame, parts, changes)}
    ${contacts(frame, parts, changes)} ${tags(frame, parts, changes)} ${keeping(frame, parts)}
    ${trying(frame, parts)} ${terms(parts)} ${closing(frame, parts)}
    ${
      changes
        ? undefined
        : html`<p class="soft">Owners and admins of the organisation change the other settings.</p>`
    }`;
}

function form(frame: Frame, name: SettingsForm, button: string, fields: Html): Html {
  const action = `/dashboard/${frame.membership!.orgId}/settings/${name}`;
  return formOf(frame, { action, button, tone: 'primary', isWide: true }, fields);
}

function use(frame: Frame, parts: SettingsParts, changes: boolean): Html {
  const { account, regions, models, typed } = parts;
  const { allowedRegions, allowedModels } = typed?.allowed ?? account;
  return html`<section class="stack tight" id="use">
    <h2>Regions and models</h2>
    <p class="prose">
      Requests with any key are limited to these. Any other region or model is refused with
      <code>invalid_region</code> or <code>invalid_model</code>, within a second of the change;
      running requests are not affected.
    </p>
    ${
      changes
        ? form(
            frame,
            'use',
            'Save regions and models',
            html`${chooser('regions', 'Regions', allowedRegions, regions)}
            ${chooser('models', 'Models', allowedModels, models)}`,
          )
        : facts([
            ['Regions', chosen(account.allowedRegions)],
            ['Models', chosen(account.allowedModels)],
          ])
    }
  </section>`;
}

const chosen = (ids: readonly string[] | null): Html =>
  ids === null
    ? html`all that are offered`
    : html`${ids.map((id) => html`<div><code>${id}</code></div>`)}`;

function chooser(
  name: 'regions' | 'models',
  label: string,
  allowed: readonly string[] | null,
  offered: readonly Choice[],
): Html {
  const which = allowed === null ? 'all' : 'some';
  return html`<fieldset>
    <legend>${label}</legend>
    ${choices(
      'radio',
      `${name}-which`,
      [
        ['all', 'Every one that is offered, also those that come later'] as const,
        ['some', 'Only those selected below'] as const,
      ].map(([value, words]) => ({ value, words, isChosen: value === which })),
    )}
    ${choices(
      'checkbox',
      name,
      offered.map(({ id, name: title, help, warning }) => ({
        value: id,
        words: html`${title} ${title === id ? undefined : html`<code class="soft">${id}</code>`}
        ${warning === undefined ? undefined : badge('warn', warning)}`,
        help,
        isChosen: allowed?.includes(id) === true,
      })),
    )}
  </fieldset>`;
}

function names(frame: Frame, { account, typed }: SettingsParts, changes: boolean): Html {
  const was = typed?.form === 'names' ? typed.name : undefined;
  return html`<section class="stack tight" id="names">
    <h2>Name in evidence packs</h2>
    <p class="prose">
      Packs name your organisation like this in their reports. Packs that exist already do not
      change.
    </p>
    ${
      changes
        ? form(
            frame,
            'names',
            'Save the name',
            html`${field({ name: 'name', label: 'Legal name', value: was?.('name') ?? account.name, required: true, max: '200', autocomplete: 'organization', help: 'A new name is compared with the sanctions lists, like the first one. The contacts get an e-mail.' })}
            ${field({ name: 'identifier', label: 'Identifier (optional)', value: was?.('identifier') ?? account.identifier ?? '', max: '200', help: 'With what it is: "LEI 529900T8BM49AURSDO55", "HRB 12345, Amtsgericht Köln".' })}`,
          )
        : facts([
            ['Legal name', account.name],
            ['Identifier', account.identifier ?? html`<span class="soft">none</span>`],
          ])
    }
  </section>`;
}

function contacts(
  frame: Frame,
  { account, typed, unconfirmed }: SettingsParts,
  changes: boolean,
): Html {
  const was = typed?.form === 'contacts' ? typed.name : undefined;
  const fields = (kind: 'billing' | 'technical', legend: string, help: string): Html =>
    html`<fieldset class="stack tight">
      <legend>${legend}</legend>
      <p class="help">${help}</p>
      ${field({ name: `${kind}-name`, label: 'Name', value: was?.(`${kind}-name`) ?? account[kind].name, required: true, max: '200' })}
      ${field({ name: `${kind}-email`, label: 'E-mail', type: 'email', value: was?.(`${kind}-email`) ?? account[kind].email, required: true, max: '254' })}
    </fieldset>`;
  const fact = ({ name, email }: Contact): Html => html`${name}<br />${email}`;
  return html`<section class="stack tight" id="contacts">
    <h2>Notifications</h2>
    ${[...new Set(unconfirmed)].map((email) =>
      note(
        'warn',
        `${email} has not confirmed that e-mails may come to it. It is asked once, not before the organisation is approved; owners get what it would have meanwhile.`,
      ),
    )}
    ${
      changes
        ? form(
            frame,
            'contacts',
            'Save the contacts',
            html`${fields('billing', 'Billing contact', 'Gets e-mails about the account: approval, suspension, closure.')}
              ${fields('technical', 'Technical contact', 'Gets those too, and e-mails about keys: issued, rotated, revoked, about to expire.')}
              <p class="help">
                A change is told to the addresses from before. A new address is asked by one e-mail,
                and gets others when it has confirmed. Names of contacts are screened.
              </p>`,
          )
        : facts([
            ['Billing contact', fact(account.billing)],
            ['Technical contact', fact(account.technical)],
          ])
    }
  </section>`;
}

function tags(frame: Frame, { account, typed }: SettingsParts, changes: boolean): Html {
  const was = typed?.form === 'tags' ? typed.name('tags') : undefined;
  return html`<section class="stack tight" id="tags">
    <h2>Tags</h2>
    <p class="prose">
      Members of a request’s <code>metadata</code> by which use is counted, such as team or project.
      Other members are not counted, nor are values longer than 64 characters or with characters
      other than letters, digits, “.”, “_” and “-”; requests with them run as usual. For each tag,
      ${TAG_VALUES_A_DAY_MAX} values a day (UTC) are counted separately and the rest together. Tags
      are not on receipts or in packs.
    </p>
    ${
      changes
        ? form(
            frame,
            'tags',
            'Save tags',
            field({
              name: 'tags',
              id: 'names-of-tags',
              label: 'Names of tags',
              value: was ?? account.tags.join(', '),
              max: '700',
              help: `Up to ${TAG_KEYS_MAX}, separated by commas, as in “team, project”. If you remove one, what it has counted stays.`,
            }),
          )
        : html`<p>
            ${
              account.tags.length === 0
                ? html`<span class="soft">No tags are declared.</span>`
                : account.tags.map((key) => html`<code>${key}</code> `)
            }
          </p>`
    }
  </section>`;
}

/** Whether responses are kept, which owners decide: it is the one place where texts of the organisation rest. */
function keeping(frame: Frame, { account: { keepResponses } }: SettingsParts): Html {
  const keeps = keepResponses ? 'on' : 'off';
  return html`<section class="stack tight" id="keep">
    <h2>Kept responses</h2>
    <p class="prose">
      A response of <code>POST /v1/responses</code> and its request’s input can be kept, sealed, for
      24 hours after their last use, so that another request can continue from it with
      <code>previous_response_id</code>. Requests with <code>store: false</code> are not kept. The
      only other answers that are kept, just as long and also sealed, are those to requests with an
      <code>Idempotency-Key</code>.
    </p>
    ${
      may(frame.membership!, 'have responses kept')
        ? form(
            frame,
            'keep',
            'Save what is kept',
            choices(
              'radio',
              'keep',
              [
                {
                  value: 'on',
                  words: 'Keep responses',
                  help: 'Unless a request says store: false.',
                },
                { value: 'off', words: 'Keep none', help: 'What is kept now is deleted at once.' },
              ].map((each) => ({ ...each, isChosen: each.value === keeps })),
            ),
          )
        : html`<p>
            ${keepResponses ? 'Responses are kept.' : 'None is kept.'}
            <span class="soft">Owners of the organisation decide it.</span>
          </p>`
    }
  </section>`;
}

/** Whether members may try models from here, which owners decide. */
function trying(frame: Frame, { account: { playground } }: SettingsParts): Html {
  const is = playground ? 'on' : 'off';
  return html`<section class="stack tight" id="playground">
    <h2>Playground</h2>
    <p class="prose">
      Members, admins and owners try models in the playground. It counts towards the organisation’s
      limits and budgets by a key of each person that has no secret: it works here alone, ends when
      its person leaves or becomes auditor, and is named on the page Keys.
    </p>
    ${
      may(frame.membership!, 'switch the playground')
        ? form(
            frame,
            'playground',
            'Save the playground',
            choices(
              'radio',
              'playground',
              [
                { value: 'on', words: 'On' },
                { value: 'off', words: 'Off', help: 'Its keys are revoked at once.' },
              ].map((each) => ({ ...each, isChosen: each.value === is })),
            ),
          )
        : html`<p>
            The playground is ${is}.
            <span class="soft">Owners of the organisation decide it.</span>
          </p>`
    }
  </section>`;
}

function terms({ account, contract }: SettingsParts): Html {
  return html`<section class="stack tight">
    <h2>Plan and contract</h2>
    ${facts([
      ['Plan', account.plan.replace('_', ' ')],
      [
        'Limits',
        html`${limitWords(limitsOf(account))}
        ${account.negotiatedLimits === null ? undefined : html`<span class="soft">(negotiated)</span>`}`,
      ],
      [
        'Contract',
        contract === null
          ? html`<span class="soft">none on record yet</span>`
          : html`${contract.kind === 'pilot' ? 'Pilot' : 'Service contract'}, signed by
              ${contract.signatory} on ${day(contract.signedAt)}<br /><span class="soft small"
                >SHA-256 of the document: <code>${contract.documentSha256}</code></span
              >`,
      ],
      ['Organisation id', html`<code>${account.id}</code>`],
    ])}
    <p class="help">Support can change the plan, the limits and the contract.</p>
  </section>`;
}

/** The end of it, for which an owner asks and which support brings. */
function closing(
  frame: Frame,
  { account, closedReadDays, typed }: SettingsParts,
): Html | undefined {
  if (!may(frame.membership!, 'ask for closing') || account.state === 'rejected') return undefined;
  const was = typed?.form === 'close' ? typed.name('reason') : undefined;
  return html`<section class="stack tight" id="close">
    <h2>Close the organisation</h2>
    <details class="act" ${was === undefined ? undefined : html`open`}>
      <summary>Ask for closing…</summary>
      <p class="prose">
        Support will read this and then close the organisation. Its keys are then revoked, which
        cannot be undone. Owners can read its receipts, packs and audit log for
        ${counted(closedReadDays, 'day')} more; receipts stay verifiable for good.
      </p>
      ${form(
        frame,
        'close',
        'Ask support to close it',
        textArea({
          name: 'reason',
          label: 'Reason',
          value: was ?? '',
          max: String(NOTE_LENGTH_MAX),
        }),
      )}
    </details>
  </section>`;
}
