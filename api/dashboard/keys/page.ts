import { html, type Html } from '#api/html.ts';
import type { Account } from '#shared/accounts/account.ts';
import type { Page } from '#shared/kernel/page.ts';
import { planCovers, type Rate } from '#shared/kernel/plan.ts';
import { DEFAULT_SCOPES, SCOPES, type Scope } from '#shared/keys/credential.ts';
import { displayText } from '#shared/keys/describe.ts';
import { restorableUntil, rotationDueAt, stateAt } from '#shared/keys/lifecycle.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { scopesOnPlan } from '#shared/keys/rules.ts';
import { counted } from '#shared/methodology/readable.ts';
import { may } from '#shared/persons/roles.ts';
import { NOTE_LENGTH_MAX } from '../forms.ts';
import { paceWords } from '../parts/figures.ts';
import { act, buttonForm, type Frame, token } from '../parts/layout.ts';
import { rotationNote } from '../rotation/page.ts';
import { activitySections, creatorOf, type KeyActivity } from './activity.ts';
import {
  ACT,
  badge,
  choices,
  copyable,
  type Fact,
  facts,
  field,
  moment,
  note,
  pager,
  shortMoment,
  table,
  told,
} from '../parts/elements.ts';

/** What a key with the scope can do, in the words of a person who has to choose. */
const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'inference:read': 'List the models that your account can use.',
  'inference:write': 'Send prompts to models. Every answer uses your limits and your budget.',
  'service:read': 'Read receipts, the ledger, and usage with its footprint.',
  'service:lineage': 'Read where each number on a receipt comes from.',
  'service:export': 'Make and download evidence packs.',
  'admin:keys':
    'Issue and revoke other keys, and read the audit log. For automation that you trust.',
};

function base(frame: Frame): string {
  return `/dashboard/${frame.membership!.orgId}/keys`;
}

export function keysPage(
  frame: Frame,
  { items, hasMore }: Page<KeyRecord>,
  { after, playgrounds }: { after: string | undefined; playgrounds: readonly KeyRecord[] },
): Html {
  const issues = may(frame.membership!, 'issue keys');
  return html`<div class="head">
      <h1>Keys</h1>
      ${
        issues
          ? html`<div class="acts">
              <a class="button primary" href="${base(frame)}/new">Create key</a>
            </div>`
          : undefined
      }
    </div>
    ${
      items.length === 0 && after === undefined
        ? html`<div class="empty">
            <h2>No keys yet</h2>
            <p class="prose">
              A key is what your programs call the API with. It is shown once, when it is created;
              here you then see when it was last used, and rotate or revoke it.
            </p>
            ${
              issues
                ? html`<a class="button primary" href="${base(frame)}/new">Create the first key</a>`
                : html`<p class="soft">
                    An owner or admin can create one while the organisation is active.
                  </p>`
            }
          </div>`
        : html`${
            issues
              ? undefined
              : html`<p class="soft">
                  ${
                    frame.membership!.orgState === 'active'
                      ? 'Owners and admins create, rotate and revoke keys'
                      : 'Keys are created and rotated by owners and admins while the organisation is active, and revoked by them at any time'
                  }:
                  <a href="/dashboard/${frame.membership!.orgId}/team">your team</a>.
                </p>`
          }
          ${keysTable(frame, items)}`
    }
    ${pager('keys', { address: base(frame), after, next: hasMore ? items.at(-1)!.id : undefined })}
    ${playgroundsSection(frame, playgrounds)}`;
}

/** The keys by which playgrounds count, which are no keys that a person could use: each is a line. */
function playgroundsSection(frame: Frame, keys: readonly KeyRecord[]): Html | undefined {
  const active = keys.filter((key) => stateAt(key, frame.now) === 'active');
  if (active.length === 0) return undefined;
  const { orgId } = frame.membership!;
  return html`<section class="stack tight">
    <h2>Playgrounds</h2>
    <p class="prose soft">
      What members run in the <a href="/dashboard/${orgId}/playground">playground</a> counts by
      these, which have no secret.
      ${
        may(frame.membership!, 'switch the playground')
          ? html`You can <a href="/dashboard/${orgId}/settings#playground">switch it off</a>.`
          : undefined
      }
    </p>
    ${table(
      'Playgrounds',
      ['Name', 'Last used', 'Since'],
      active.map(
        ({ id, name, lastUsedAt, createdAt }) =>
          html`<tr>
            <th scope="row" class="clip name" title="${name}">
              <a href="${base(frame)}/${id}">${name}</a>
            </th>
            <td data-head="Last used">
              ${lastUsedAt === null ? undefined : shortMoment(lastUsedAt, frame.now)}
            </td>
            <td data-head="Since">${shortMoment(createdAt, frame.now)}</td>
          </tr>`,
      ),
      'stacked',
    )}
  </section>`;
}

function keysTable(frame: Frame, keys: readonly KeyRecord[]): Html {
  const isActive = (key: KeyRecord): boolean => stateAt(key, frame.now) === 'active';
  const issues = may(frame.membership!, 'issue keys');
  const succeeded = new Set(keys.filter(isActive).map(({ predecessorId }) => predecessorId));
  return table(
    'Keys',
    ['Name', 'Key', 'State', 'Scopes', 'Last used', 'Created', 'Expires', ACT],
    keys.map((key) => {
      const { lastUsedAt } = key;
      const state = stateAt(key, frame.now);
      return html`<tr>
        <th scope="row" class="clip name" title="${key.name}">
          <a href="${base(frame)}/${key.id}">${key.name}</a>
        </th>
        <td class="nowrap"><code>${displayText(key.display)}</code></td>
        <td>
          ${stateBadge(key, frame.now)} ${leakedBadge(key)}
          ${
            state === 'active' && succeeded.has(key.id)
              ? html`<a class="small" href="${base(frame)}/${key.id}/rotation">being rotated</a>`
              : undefined
          }
        </td>
        <td class="nowrap soft" title="${key.scopes.join(', ')}">
          ${counted(key.scopes.length, 'scope')}
        </td>
        <td data-head="Last used">
          ${
            lastUsedAt === null
              ? html`<span class="soft">never</span>`
              : shortMoment(lastUsedAt, frame.now)
          }
        </td>
        <td data-head="Created">${shortMoment(key.createdAt, frame.now)}</td>
        <td data-head="Expires">
          ${
            key.expiresAt === null
              ? html`<span class="soft">never</span>`
              : shortMoment(key.expiresAt, frame.now)
          }
        </td>
        <td class="num">
          ${
            state === 'active' && issues
              ? html`<a href="${base(frame)}/${key.id}/rotation"
                  >Rotate…<span class="hidden-words">
                    ${key.name}, ${displayText(key.display)}</span
                  ></a
                >`
              : undefined
          }
          ${
            state === 'active' && may(frame.membership!, 'revoke keys')
              ? html`<a href="${base(frame)}/${key.id}?do=revoke"
                  >Revoke…<span class="hidden-words">
                    ${key.name}, ${displayText(key.display)}</span
                  ></a
                >`
              : undefined
          }
        </td>
      </tr>`;
    }),
    'stacked',
  );
}

/** The state of a key; of an active one also whether a rotation is due. */
export function stateBadge(key: KeyRecord, now: number): Html {
  const state = stateAt(key, now);
  if (state !== 'active') return badge('bad', state);
  const due = rotationDueAt(key, now);
  return due !== null && due < now ? badge('warn', 'active, rotate') : badge('good', 'active');
}

/** Whether a key still is as an act has made it: since then another one may have been done elsewhere. */
export function standsFor(key: KeyRecord, now: number): (done: string) => boolean {
  const state = stateAt(key, now);
  return (done) => {
    if (done === 'renamed') return true;
    if (done === 'leaked') return key.leaked;
    return state === (done === 'revoked' ? 'revoked' : 'active');
  };
}

/** Beside the state of a key that others have. */
export function leakedBadge({ leaked }: Pick<KeyRecord, 'leaked'>): Html | undefined {
  return leaked ? badge('bad', 'leaked') : undefined;
}

/** What a form of a new key was sent with, and what was wrong with it. */
export interface NewKeyParts {
  account: Pick<Account, 'plan' | 'state'>;
  /** Those of the organisation. */
  limits: Rate;
  name?: string;
  scopes?: readonly string[];
  expires?: string;
  /** Requests a second, and at once, that the key has of its own. */
  rate?: string;
  burst?: string;
  /** The field, or none for the whole of it, and the message. */
  problem?: { field: string | null; message: string };
}

export function newKeyPage(frame: Frame, parts: NewKeyParts): Html {
  const { account, problem } = parts;
  const chosen = new Set<string>(parts.scopes ?? DEFAULT_SCOPES);
  const offered = new Set<string>(scopesOnPlan(SCOPES, account.plan));
  const errorOf = (name: string): string | undefined =>
    problem?.field === name ? problem.message : undefined;
  const expires = planCovers(account.plan, 'audit_plus');
  return html`<div class="head">
      <p class="crumb"><a href="${base(frame)}">Keys</a></p>
      <h1>Create a key</h1>
    </div>
    ${problem === undefined ? undefined : problemNote(problem)}
    <form class="form wide" method="post" action="${base(frame)}">
      ${token(frame)}
      ${field({ name: 'name', label: 'Name', value: parts.name ?? '', required: true, max: '100', error: errorOf('name'), help: 'Where it is used, such as "nightly batch" or "production EU". You will find it by this name.' })}
      <fieldset id="scope">
        <legend>What it may do</legend>
        ${
          errorOf('scope') === undefined
            ? undefined
            : html`<p class="error" id="scope-error">${errorOf('scope')}</p>`
        }
        ${choices(
          'checkbox',
          'scope',
          SCOPES.map((scope) => {
            const isOff = !offered.has(scope);
            return {
              value: scope,
              words: html`<code>${scope}</code>
                ${isOff ? badge('plain', 'on the Audit Plus plan and above') : undefined}`,
              help: SCOPE_WORDS[scope],
              isChosen: !isOff && chosen.has(scope),
              isOff,
            };
          }),
        )}
      </fieldset>
      ${
        expires
          ? field({
              name: 'expires',
              label: 'Expires on (optional)',
              type: 'date',
              value: parts.expires ?? '',
              error: errorOf('expires'),
              help: 'At the end of that day (UTC). Without a date, it works until it is revoked.',
            })
          : html`<p class="help">Keys of the plan Audit do not expire.</p>`
      }
      <details class="act" ${parts.rate || parts.burst || errorOf('rate') ? html`open` : undefined}>
        <summary>A limit of its own</summary>
        ${field({ name: 'rate', label: 'Requests per second (optional)', type: 'number', min: '1', value: parts.rate ?? '', error: errorOf('rate'), help: `At most what the organisation has: ${paceWords(parts.limits)}. Without one the key may use all of it.` })}
        ${field({ name: 'burst', label: 'Requests at once (optional)', type: 'number', min: '1', value: parts.burst ?? '', help: 'Four seconds’ worth of its rate unless you enter a number.' })}
      </details>
      <p class="help">
        The key is shown once, on the next page, and works at once. Only its hash is kept.
      </p>
      <div class="row">
        <button class="primary" type="submit">Create key</button>
        <a href="${base(frame)}">Cancel</a>
      </div>
    </form>`;
}

function problemNote({ field: name, message }: NonNullable<NewKeyParts['problem']>): Html {
  return note(
    'bad',
    html`<p><strong>The key was not created.</strong></p>
      <p>${name === null ? message : html`<a href="#${name}">${message}</a>`}</p>`,
  );
}

/** What the page of a key that was just made is drawn with. */
export interface IssuedParts {
  key: KeyRecord;
  plaintext: string;
  /** The key that it succeeds. */
  predecessor?: KeyRecord;
  baseUrl: string;
  model: string | undefined;
}

export function issuedPage(frame: Frame, parts: IssuedParts): Html {
  const { key, plaintext, predecessor } = parts;
  return html`<div class="head">
      <p class="crumb"><a href="${base(frame)}">Keys</a></p>
      <h1>${key.name}</h1>
      ${badge('good', 'active')}
    </div>
    ${note(
      'good',
      html`<p>
        <strong
          >The key was ${predecessor === undefined ? 'created' : 'issued as a successor'}.</strong
        >
        Store it in your secrets store now: this is the only time it is shown.
      </p>`,
      html`<p class="secret">${copyable('secret', plaintext)}</p>`,
    )}
    <section class="stack">
      <h2>Try it</h2>
      ${snippets({ ...parts, model: parts.model ?? 'your-model' })}
    </section>
    <p>
      <a
        class="button"
        href="${base(frame)}/${predecessor === undefined ? key.id : `${predecessor.id}/rotation`}"
        >I have stored it</a
      >
      ${
        predecessor === undefined
          ? undefined
          : html`<span class="soft">The rotation goes on there; both keys work meanwhile.</span>`
      }
    </p>`;
}

function snippets({ plaintext, baseUrl, model }: IssuedParts): Html {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  const curl = `curl ${baseUrl}/chat/completions \\
  -H 'Authorization: Bearer ${plaintext}' \\
  -H 'Content-Type: application/json' \\
  -d '${body}'`;
  const python = `from openai import OpenAI

client = OpenAI(base_url="${baseUrl}", api_key="${plaintext}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)
print(answer.receipt["id"])`;
  const typescript = `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: '${plaintext}' });
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0].message.content, answer.receipt.id);`;
  const tabs: readonly [string, string, string][] = [
    ['curl', 'curl', curl],
    ['python', 'Python', python],
    ['typescript', 'TypeScript', typescript],
  ];
  return html`${tabs.map(
    ([id, label, text], index) =>
      html`<details class="act" ${index === 0 ? html`open` : undefined}>
        <summary>${label}</summary>
        <div class="stack tight">
          <pre id="${id}" tabindex="0">${text}</pre>
          <div><button type="button" hidden data-copy="${id}">Copy</button></div>
        </div>
      </details>`,
  )}`;
}

export interface KeyParts {
  key: KeyRecord;
  /** The keys of its lineage that are known beside it. */
  predecessor: KeyRecord | undefined;
  successor: KeyRecord | null;
  activity: KeyActivity;
  /** The act whose form is open. */
  open: string | undefined;
  problem?: string;
  done?: string;
}

export function keyPage(frame: Frame, parts: KeyParts): Html {
  const { key, predecessor, successor } = parts;
  const { now, membership } = frame;
  const state = stateAt(key, now);
  const rotated = rotatedKey(parts, now);
  const isPlayground = key.playgroundOf !== null;
  return html`<div class="head">
      <p class="crumb"><a href="${base(frame)}">Keys</a></p>
      <h1>${key.name}</h1>
      ${stateBadge(key, now)} ${leakedBadge(key)}
      ${
        state === 'active' && !isPlayground && may(membership!, 'issue keys')
          ? html`<div class="acts">
              <a class="button" href="${base(frame)}/${key.id}/rotation">Rotate…</a>
            </div>`
          : undefined
      }
    </div>
    ${told(parts)}
    ${rotated === undefined ? undefined : rotationNote(`${base(frame)}/${rotated.id}`)}
    ${keyFacts(
      key,
      now,
      ['Created by', creatorOf(parts.activity)],
      ['Successor of', predecessor && keyLink(frame, predecessor)],
      ['Succeeded by', successor === null ? undefined : keyLink(frame, successor)],
    )}
    ${!isPlayground && may(membership!, 'issue keys') ? renaming(frame, parts) : undefined}
    ${!isPlayground && may(membership!, 'revoke keys') ? acts(frame, parts, state) : undefined}
    ${activitySections(frame, parts.activity)}`;
}

function renaming(frame: Frame, { key, open, problem }: KeyParts): Html {
  const isOpen = open === 'rename';
  return act(
    frame,
    {
      summary: 'Rename…',
      isOpen,
      action: `${base(frame)}/${key.id}/rename`,
      button: 'Rename key',
    },
    html`${field({ name: 'name', label: 'Name', value: key.name, required: true, max: '100', error: isOpen ? problem : undefined, help: 'Pages and lists show the new name; the key itself does not change.' })}`,
  );
}

/** What is known of a key, for its organisation and for support alike; `relatives` are the keys before and after it. */
export function keyFacts(key: KeyRecord, now: number, ...relatives: readonly Fact[]): Html {
  const { expiresAt, lastUsedAt, revokedAt } = key;
  return facts([
    [
      'Key',
      key.playgroundOf === null
        ? html`<code>${displayText(key.display)}</code>`
        : 'of a playground, without a secret: it ends when its person leaves or becomes auditor, or when an owner switches the playground off',
    ],
    ['Id', copyable('key-id', key.id)],
    [
      'Scopes',
      html`${key.scopes.map(
        (scope) =>
          html`<div><code>${scope}</code> <span class="soft">${SCOPE_WORDS[scope]}</span></div>`,
      )}`,
    ],
    ['Last used', lastUsedAt === null ? 'never' : moment(lastUsedAt, now)],
    ['Created', moment(key.createdAt, now)],
    [
      expiresAt === null || expiresAt > now ? 'Expires' : 'Expired',
      expiresAt === null ? 'never' : moment(expiresAt, now),
    ],
    ['Own limit', key.limit === null ? undefined : paceWords(key.limit)],
    ...relatives,
    ['Revoked', revokedAt === null ? undefined : moment(revokedAt, now)],
  ]);
}

const keyLink = (frame: Frame, key: KeyRecord): Html =>
  html`<a href="${base(frame)}/${key.id}">${key.name}</a> <code>${displayText(key.display)}</code>`;

/** The key that is being rotated: this one, or the one before it. */
function rotatedKey({ key, predecessor, successor }: KeyParts, now: number): KeyRecord | undefined {
  const isActive = (one: KeyRecord | null | undefined): boolean =>
    one != null && stateAt(one, now) === 'active';
  if (!isActive(key)) return undefined;
  if (isActive(successor)) return key;
  return isActive(predecessor) ? predecessor : undefined;
}

/** The way back of a revoked key: until when there is one, or why there is none. */
function restoring(frame: Frame, { key }: KeyParts): Html {
  return html`<section class="stack tight">
    <h2>Restore</h2>
    ${wayBack(frame, key)}
    <p class="help">Its record is deleted 90 days after the revocation.</p>
  </section>`;
}

function wayBack(frame: Frame, key: KeyRecord): Html {
  const until = restorableUntil(key, frame.now);
  const issues = may(frame.membership!, 'issue keys');
  if (until === null) return html`<p class="prose">${noWayBack(key, frame.now)}</p>`;
  const left = html`until ${moment(until, frame.now)}`;
  if (key.leaked) {
    return html`<p class="prose">
      This key leaked: others have it, or may have it. Only support can restore it, ${left}.
      ${issues ? 'Create another key instead.' : undefined}
    </p>`;
  }
  if (!issues) {
    return html`<p class="prose">
      An owner or admin can restore it ${left}, while the organisation is active.
    </p>`;
  }
  return html`<p class="prose">
      The key works again at once for everyone who has it. You can restore it ${left}.
    </p>
    ${buttonForm(frame, { action: `${base(frame)}/${key.id}/restore`, button: 'Restore key' })}`;
}

/** Why a key that is refused is not restored. */
export function noWayBack({ expiresAt }: KeyRecord, now: number): string {
  return expiresAt !== null && expiresAt <= now
    ? 'The key has expired, and expired keys cannot be restored.'
    : 'It can no longer be restored: 90 days have passed.';
}

function acts(frame: Frame, parts: KeyParts, state: KeyRecord['state']): Html | undefined {
  const { key, open } = parts;
  if (state !== 'active') {
    return html`${state === 'revoked' ? restoring(frame, parts) : undefined}
    ${key.leaked ? undefined : leaking(frame, { key, address: `${base(frame)}/${key.id}`, where: field({ name: 'note', label: 'Where it was found (optional)', max: String(NOTE_LENGTH_MAX) }) })}`;
  }
  return html`<section class="stack tight">
    <details class="act" ${open === 'revoke' ? html`open` : undefined}>
      <summary>Revoke…</summary>
      <form class="form" method="post" action="${base(frame)}/${key.id}/revoke">
        ${token(frame)}
        <p class="prose">
          Requests with this key are refused everywhere within a second. It can be restored for up
          to 90 days while the organisation is active; if it leaked, or may have leaked, only by
          support.
        </p>
        <fieldset>
          <legend>Why</legend>
          ${choices(
            'radio',
            'why',
            REASONS.map(([value, words], index) => ({ value, words, isChosen: index === 0 })),
          )}
        </fieldset>
        ${field({ name: 'note', label: 'Note for the audit log; for a leaked key, where it was found (optional)', max: String(NOTE_LENGTH_MAX) })}
        <div class="row">
          <button class="danger" type="submit">Revoke key</button>
          <button class="danger" type="submit" name="leaked" value="yes">Revoke: it leaked</button>
        </div>
      </form>
    </details>
  </section>`;
}

/**
 * The form by which a key that is refused already is marked as leaked, so that it is not restored by mistake.
 * @param address of the key's page; `where` asks where it was found, and says what else comes of it
 */
export function leaking(
  frame: Frame,
  { key, address, where }: { key: KeyRecord; address: string; where: Html },
): Html {
  return html`<details class="act">
    <summary>It leaked…</summary>
    <form class="form" method="post" action="${address}/revoke">
      ${token(frame)}
      <p class="prose">
        The key is refused already.
        ${restorableUntil(key, frame.now) === null ? noWayBack(key, frame.now) : 'Once it is marked as leaked, only support can restore it.'}
      </p>
      ${where}
      <div>
        <button class="danger" type="submit" name="leaked" value="yes">Mark as leaked</button>
      </div>
    </form>
  </details>`;
}

/** Values are how the reason begins in the audit log. */
export const REASONS: readonly (readonly [string, string])[] = [
  ['not used any more', 'It is no longer used'],
  ['rotated', 'It was rotated'],
];
