import { html, type Html } from '#api/html.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { Frame } from './layout.ts';
import { moment, pager, shortId, table } from './parts.ts';

export interface AuditParts {
  page: Page<AuditEntry>;
  /** Names of persons by id. */
  names: ReadonlyMap<string, string>;
  action: string;
  after: string | undefined;
}

/** Who did what: the append-only log of an organisation, newest first. */
export function auditPage(frame: Frame, { page, names, action, after }: AuditParts): Html {
  const address = `/dashboard/${frame.membership!.orgId}/audit-log`;
  const next = page.hasMore ? page.items.at(-1)!.id : undefined;
  return html`<div class="head"><h1>Audit log</h1></div>
    <form class="row end" method="get" action="${address}">
      <div class="field">
        <label for="action">Action</label>
        <input id="action" name="action" value="${action}" placeholder="key.revoked" />
      </div>
      <button type="submit">Show</button>
      ${action === '' ? undefined : html`<a href="${address}">Show all</a>`}
      <a class="button" href="${address}.csv?${new URLSearchParams({ action }).toString()}" download
        >Download CSV</a
      >
    </form>
    ${
      page.items.length === 0
        ? html`<div class="empty">
            <h2>Nothing here</h2>
            <p class="prose">
              Acts on keys, members and the account stand here, with who did them and when. None
              ${action === '' ? 'was done yet' : html`is called <code>${action}</code>`}.
            </p>
          </div>`
        : table(
            'Acts',
            ['When', 'Who', 'Action', 'What', 'Reason', 'From'],
            page.items.map(
              (entry) =>
                html`<tr>
                  <td class="nowrap">${moment(entry.at, frame.now)}</td>
                  <td class="clip" title="${entry.actorKind} ${entry.actorId}">
                    ${names.get(entry.actorId) ?? `${entry.actorKind} ${entry.actorId}`}
                  </td>
                  <td class="nowrap"><code>${entry.action}</code></td>
                  ${entry.subject === null ? html`<td></td>` : html`<td data-head="What">${shortId(entry.subject)}</td>`}
                  <td class="clip" title="${entry.reason ?? ''}">${entry.reason ?? undefined}</td>
                  <td class="nowrap soft">${entry.address ?? ''}</td>
                </tr>`,
            ),
            'stacked',
          )
    }
    ${pager('acts', { address, filters: { action }, after, next })}`;
}
