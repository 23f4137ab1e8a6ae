import { html, type Html } from '#api/html.ts';
import type { Account } from '#shared/accounts/account.ts';
import { restorableUntil, stateAt } from '#shared/keys/lifecycle.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { NOTE_LENGTH_MAX } from '../forms.ts';
import { keyFacts, leakedBadge, leaking, noWayBack, stateBadge } from '../keys/page.ts';
import { type Frame, token } from '../parts/layout.ts';
import { moment, note, textArea, told, type Told } from '../parts/elements.ts';

export interface ServiceKeyParts extends Told {
  key: KeyRecord;
  account: Pick<Account, 'id' | 'name' | 'state'>;
  /** Why the reader cannot act here, where that is so. */
  mayNot: string | undefined;
}

/** A key of any organisation, as support sees it: what it is, and what is asked to be done to it. */
export function serviceKeyPage(frame: Frame, parts: ServiceKeyParts): Html {
  const { key, account, mayNot } = parts;
  const { now } = frame;
  return html`<div class="head">
      <p class="crumb"><a href="/dashboard/service/accounts/${account.id}">${account.name}</a></p>
      <h1>${key.name}</h1>
      ${stateBadge(key, now)} ${leakedBadge(key)}
    </div>
    ${told(parts)} ${keyFacts(key, now)}
    ${mayNot === undefined ? acts(frame, parts) : note('plain', mayNot)}`;
}

function acts(frame: Frame, { key, account }: ServiceKeyParts): Html {
  const state = stateAt(key, frame.now);
  const until = restorableUntil(key, frame.now);
  const address = `/dashboard/service/keys/${key.id}`;
  return html`<section class="stack tight">
    ${
      state === 'active'
        ? html`<details class="act">
            <summary>Revoke…</summary>
            <form class="form" method="post" action="${address}/revoke">
              ${token(frame)}
              <p class="prose">
                Requests with this key are refused everywhere within a second. Its organisation gets
                an e-mail and can restore it for 90 days at most, while it is active; one that
                leaked, support alone.
              </p>
              ${reason('revoke-reason', 'Reason; for a leaked key, where it was found')}
              <div class="row">
                <button class="danger" type="submit">Revoke key</button>
                <button class="danger" type="submit" name="leaked" value="yes">
                  Revoke: it leaked
                </button>
              </div>
            </form>
          </details>`
        : undefined
    }
    ${
      state === 'active' || key.leaked
        ? undefined
        : leaking(frame, {
            key,
            address,
            where: html`<p class="prose">Its organisation gets an e-mail.</p>
              ${reason('revoke-reason', 'Where it was found')}`,
          })
    }
    ${until === null ? undefined : restoring(frame, { key, account, address, until })}
    ${state === 'active' || until !== null ? undefined : html`<p class="soft">${noWayBack(key, frame.now)}</p>`}
  </section>`;
}

/** The way back of a revoked key, while there is one. */
function restoring(
  frame: Frame,
  {
    key,
    account,
    address,
    until,
  }: Pick<ServiceKeyParts, 'key' | 'account'> & { address: string; until: number },
): Html {
  if (account.state !== 'active') {
    return html`<p class="soft">
      Keys of an account that is ${account.state.replace('_', ' ')} are not restored.
    </p>`;
  }
  return html`<details class="act">
    <summary>Restore…</summary>
    <form class="form" method="post" action="${address}/restore">
      ${token(frame)}
      <p class="prose">
        The key works again at once, for everyone who has it; its organisation gets an e-mail. This
        can be done until ${moment(until, frame.now)}; its record is deleted 90 days after it was
        revoked.
        ${key.leaked ? 'It leaked: restore it only if you know that no one else has it.' : undefined}
      </p>
      ${reason('restore-reason', 'Reason')}
      <div><button class="primary" type="submit">Restore key</button></div>
    </form>
  </details>`;
}

const reason = (name: string, label: string): Html =>
  textArea({
    name,
    label,
    max: String(NOTE_LENGTH_MAX),
    help: 'The customer can read this in its audit log.',
  });
