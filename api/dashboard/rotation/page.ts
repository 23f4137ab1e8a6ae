import { html, type Html } from '#api/html.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';
import { displayText } from '#shared/keys/describe.ts';
import { stateAt } from '#shared/keys/lifecycle.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { may } from '#shared/persons/roles.ts';
import { NOTE_LENGTH_MAX } from '../forms.ts';
import { type Frame, token } from '../parts/layout.ts';
import { badge, field, moment, note, progress, table, told, type Told } from '../parts/elements.ts';

const STEPS = ['Issue the successor', 'Deploy it', 'Confirm traffic', 'Revoke the old key'];

/** After so long without a request most programs that have a key have shown it; what runs daily has not. */
const QUIET_MS = HOUR_MS;
/** Last uses are written every ten seconds. */
const LOOK_S = 10;

/** How far a rotation has come, by what both keys were last used for. */
type RotationStage = 'issue' | 'deploy' | 'confirm' | 'revoke' | 'done' | 'ended';

/** Reads the stage from the keys themselves, so that a rotation goes on for any member who opens its page. */
function stageOf(old: KeyRecord, successor: KeyRecord | null, now: number): RotationStage {
  const follows = successor !== null && stateAt(successor, now) === 'active';
  if (stateAt(old, now) !== 'active') return follows ? 'done' : 'ended';
  if (!follows) return 'issue';
  if (successor.lastUsedAt === null) return 'deploy';
  return isQuiet(old, now) ? 'revoke' : 'confirm';
}

const isQuiet = ({ lastUsedAt }: KeyRecord, now: number): boolean =>
  lastUsedAt === null || now - lastUsedAt > QUIET_MS;

export interface RotationParts extends Told {
  old: KeyRecord;
  successor: KeyRecord | null;
}

/** One key takes the place of another: issued, deployed, seen at work, and only then is the old one revoked. */
export function rotationPage(frame: Frame, parts: RotationParts): Html {
  const { old, successor } = parts;
  const stage = stageOf(old, successor, frame.now);
  const keys = `/dashboard/${frame.membership!.orgId}/keys`;
  const current = { issue: 0, deploy: 1, confirm: 2, revoke: 3, done: STEPS.length, ended: 0 };
  const isWatched = stage === 'deploy' || stage === 'confirm' || stage === 'revoke';
  return html`<div class="head">
      <p class="crumb"><a href="${keys}">Keys</a> / <a href="${keys}/${old.id}">${old.name}</a></p>
      <h1>Rotate ${old.name}</h1>
      <code>${displayText(old.display)}</code>
    </div>
    ${told(parts)}
    <div class="stack" id="live" ${isWatched ? html`data-live="${LOOK_S}"` : undefined}>
      ${stage === 'ended' ? undefined : progress(STEPS, current[stage])}
      ${guidance(frame, parts, stage, keys)} ${watched(frame, parts)}
      ${
        isWatched
          ? html`<p class="help">
              Last uses are written down every ten seconds.
              <a href="${keys}/${old.id}/rotation">Look again</a>
            </p>`
          : undefined
      }
    </div>
    ${may(frame.membership!, 'revoke keys') ? acts(frame, parts, stage, keys) : undefined}`;
}

function guidance(
  frame: Frame,
  { old, successor }: RotationParts,
  stage: RotationStage,
  keys: string,
): Html {
  const words: Readonly<Record<RotationStage, () => Html>> = {
    issue: () =>
      html`<p class="prose">
        The successor has the same scopes and limits, and is shown once. The old key keeps working
        until you revoke it, so nothing stops while you deploy the new one. You can leave this page
        and come back at any time.
        ${may(frame.membership!, 'issue keys') ? undefined : 'An owner or admin can issue it while the organisation is active.'}
      </p>`,
    deploy: () =>
      html`<p class="prose">
        Put the new key, <code>${displayText(successor!.display)}</code>, wherever the old one is
        used. This page moves on when the first request arrives with it.
      </p>`,
    confirm: () =>
      html`<p class="prose">
        The new key is in use. The old one was used within the last hour: find what still has it.
        This page moves on once nothing has used it for an hour.
      </p>`,
    revoke: () =>
      html`<p class="prose">
        ${
          old.lastUsedAt === null
            ? 'The old key was never used.'
            : html`Nothing has used the old key since ${moment(old.lastUsedAt, frame.now)}. If
              something runs daily or monthly with it, wait for its next run.`
        }
      </p>`,
    done: () =>
      note(
        'good',
        html`<p>
          <strong>The rotation is complete.</strong> The old key is ${stateAt(old, frame.now)};
          <a href="${keys}/${successor!.id}">its successor</a>,
          <code>${displayText(successor!.display)}</code>, is in its place.
        </p>`,
      ),
    ended: () =>
      note(
        'plain',
        `The key is ${stateAt(old, frame.now)} and has no active successor, so there is nothing to rotate.`,
      ),
  };
  return words[stage]();
}

function watched({ now, membership }: Frame, { old, successor }: RotationParts): Html {
  const rows: readonly (readonly [string, KeyRecord])[] = [
    ['Old key', old],
    ...(successor === null ? [] : [['New key', successor] as const]),
  ];
  return table(
    'The keys of this rotation',
    ['Which', 'Key', 'State', 'Created', 'Last used'],
    rows.map(([label, key]) => {
      const state = stateAt(key, now);
      return html`<tr>
        <th scope="row" class="nowrap">${label}</th>
        <td class="nowrap">
          <a href="/dashboard/${membership!.orgId}/keys/${key.id}"
            ><code>${displayText(key.display)}</code></a
          >
        </td>
        <td>${badge(state === 'active' ? 'good' : 'bad', state)}</td>
        <td data-head="Created">${moment(key.createdAt, now)}</td>
        <td data-head="Last used">
          ${key.lastUsedAt === null ? html`<span class="soft">never</span>` : moment(key.lastUsedAt, now)}
        </td>
      </tr>`;
    }),
    'stacked',
  );
}

function acts(
  frame: Frame,
  { old, successor }: RotationParts,
  stage: RotationStage,
  keys: string,
): Html | undefined {
  if (stage === 'issue') {
    if (!may(frame.membership!, 'issue keys')) return undefined;
    return html`<form method="post" action="${keys}/${old.id}/rotate">
      ${token(frame)}<button class="primary" type="submit">Issue the successor</button>
    </form>`;
  }
  if (successor === null || stage === 'done' || stage === 'ended') return undefined;
  const hidden = html`${token(frame)}<input type="hidden" name="rotation" value="${old.id}" />`;
  const early = {
    deploy: 'Nothing uses the new key yet: anything that still has the old one will be refused.',
    confirm: 'It is still in use: anything that still has it will be refused.',
    revoke: undefined,
  }[stage];
  return html`<section class="stack tight">
    <details class="act" ${stage === 'revoke' ? html`open` : undefined}>
      <summary>Revoke the old key…</summary>
      <form class="form" method="post" action="${keys}/${old.id}/revoke">
        ${hidden}<input type="hidden" name="why" value="rotated" />
        <p class="prose" id="effect" data-live="${LOOK_S}">
          ${early} Requests with it are refused everywhere within a second. It can be restored for
          up to 90 days while the organisation is active.
        </p>
        ${field({ name: 'note', label: 'For the audit log (optional)', max: String(NOTE_LENGTH_MAX) })}
        <div><button class="danger" type="submit">Revoke the old key</button></div>
      </form>
    </details>
    <details class="act">
      <summary>The new key was lost, or is not needed…</summary>
      <form class="form" method="post" action="${keys}/${successor.id}/revoke">
        ${hidden}<input type="hidden" name="why" value="not used any more" />
        <p class="prose">
          This revokes the new key, <code>${displayText(successor.display)}</code>. The old one is
          not affected, and you can issue another successor.
        </p>
        <div><button type="submit">Revoke the new key</button></div>
      </form>
    </details>
  </section>`;
}

/** What the pages of both keys say while a rotation is under way. */
export function rotationNote(address: string): Html {
  return note(
    'warn',
    html`<p>
      <strong>A rotation is under way.</strong>
      <a href="${address}/rotation">See how far it has got</a>
    </p>`,
  );
}
