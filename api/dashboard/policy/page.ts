import { html, type Html } from '#api/html.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { count } from '#shared/methodology/readable.ts';
import type { PolicyHit, RuleFigures } from '#shared/receipts/postgres/policy-hits.ts';
import { type Frame } from '../parts/layout.ts';
import { field, pager, shortId, shortMoment, table } from '../parts/elements.ts';

const ADDRESS = '/dashboard/service/policy';

export interface PolicyParts {
  /** Days that the figures by rule are of. */
  days: number;
  rules: readonly RuleFigures[];
  hits: readonly PolicyHit[];
  /** What the list was asked for; empty for all. */
  filters: Readonly<Record<'rule' | 'org', string>>;
  after: string | undefined;
  hasMore: boolean;
}

/** What screening has blocked, by rule and one by one. */
export function policyPage(frame: Frame, parts: PolicyParts): Html {
  const { days, rules, hits, filters, after, hasMore } = parts;
  const isAll = filters.rule === '' && filters.org === '';
  return html`<div class="head"><h1>Policy hits</h1></div>
    <section class="stack tight">
      <h2>By rule, last ${days} days</h2>
      ${
        rules.length === 0
          ? html`<p class="soft">Screening has blocked nothing in these days.</p>`
          : table(
              'By rule',
              ['Rule', 'Requests', 'Organisations', 'Newest'].map((text, i) =>
                i === 1 || i === 2 ? html`<span class="num">${text}</span>` : text,
              ),
              rules.map(
                ({ rule, hits: number, organisations, newest }) =>
                  html`<tr>
                    <th scope="row">
                      ${
                        rule === null
                          ? html`<span class="soft">not kept</span>`
                          : html`<a href="${ADDRESS}?${new URLSearchParams({ rule }).toString()}"
                              ><code>${rule}</code></a
                            >`
                      }
                    </th>
                    <td class="num" data-head="Requests">${count(number)}</td>
                    <td class="num" data-head="Organisations">${count(organisations)}</td>
                    <td data-head="Newest">${shortMoment(timeOfId(newest), frame.now)}</td>
                  </tr>`,
              ),
              'stacked',
            )
      }
    </section>
    <section class="stack tight">
      <h2>Requests</h2>
      <form class="row end" method="get" action="${ADDRESS}">
        ${field({ name: 'rule', label: 'Rule', value: filters.rule, max: '200' })}
        ${field({ name: 'org', label: 'Organisation id', value: filters.org, max: '40' })}
        <button type="submit">Show</button>
        ${isAll ? undefined : html`<a href="${ADDRESS}">Show all</a>`}
      </form>
      ${hits.length === 0 ? none(isAll) : hitsTable(frame, hits)}
      ${pager('requests', { address: ADDRESS, filters, after, next: hasMore ? hits.at(-1)!.receiptId : undefined })}
    </section>`;
}

function none(isAll: boolean): Html {
  return html`<div class="empty">
    <h3>${isAll ? 'Nothing was blocked' : 'No blocked request matches'}</h3>
    <p class="prose">
      Requests that the dual-use and acceptable-use rules block appear here, with the rule. The text
      is not kept, and the caller is not told which rule it was.
      <code>docket policy test</code> says which rules a text matches.
    </p>
  </div>`;
}

function hitsTable(frame: Frame, hits: readonly PolicyHit[]): Html {
  return table(
    'Blocked requests',
    ['When', 'Organisation', 'Rule', 'Model', 'Key', 'Request'],
    hits.map((hit) => {
      const requestId = hit.receiptId.replace(/^rcpt_/, 'req_');
      return html`<tr>
        <td>${shortMoment(hit.at, frame.now)}</td>
        <th scope="row" class="clip name">
          <a href="/dashboard/service/accounts/${hit.orgId}"
            >${hit.organisationName ?? hit.orgId}</a
          >
        </th>
        <td data-head="Rule">
          ${hit.rule === null ? html`<span class="soft">not kept</span>` : html`<code>${hit.rule}</code>`}
        </td>
        <td class="clip short" data-head="Model">${hit.model ?? undefined}</td>
        <td data-head="Key">${hit.keyId === null ? undefined : shortId(hit.keyId)}</td>
        <td data-head="Request">
          <a href="/dashboard/service/look-up?q=${requestId}">${shortId(requestId)}</a>
        </td>
      </tr>`;
    }),
    'stacked',
  );
}
