import { html, type Html } from '#api/html.ts';
import { REASON_LENGTH_MAX } from '#shared/accounts/audit/entry.ts';
import type {
  ChangedParties,
  ImportedList,
  ListPreview,
  StagedList,
} from '#shared/accounts/sanctions/listed.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import {
  badge,
  facts,
  moment,
  note,
  shortMoment,
  table,
  textArea,
  told,
  type Told,
} from '../parts/elements.ts';
import { act, type Frame, token } from '../parts/layout.ts';
import { publishedWords } from '../reviews/page.ts';
import { FILE_BYTES_MAX } from './upload.ts';

export const SANCTIONS_ADDRESS = '/dashboard/service/sanctions';

/** What the page after an act says. */
export const SANCTIONS_DONE = {
  applied:
    'The list is current. Accounts are compared with it in the background, from within 15 seconds on.',
  discarded: 'The list is discarded.',
} as const;

interface ListsParts extends Told {
  lists: readonly ImportedList[];
  staged: readonly StagedList[];
  /** Names of persons by id. */
  names: ReadonlyMap<string, string>;
}

/** The lists that applicants are compared with, and the way to a new one. */
export function sanctionsPage(frame: Frame, parts: ListsParts): Html {
  const { lists, staged, names } = parts;
  return html`<div class="head"><h1>Sanctions lists</h1></div>
    ${told(parts)} ${staged.length === 0 ? undefined : waiting(frame, parts)}
    <section class="stack tight">
      <h2>Upload a list</h2>
      <form class="form" method="post" action="${SANCTIONS_ADDRESS}" enctype="multipart/form-data">
        ${token(frame)}
        <p class="prose">
          OFAC SDN (XML, CSV), EU or UN consolidated XML, or OpenSanctions targets.simple.csv, told
          by its content. Nothing is compared with it yet: the next page shows what it would change.
        </p>
        ${fileField('list', 'List', `At most ${FILE_BYTES_MAX / 1_048_576} MiB.`)}
        ${fileField('aliases', 'OFAC’s alt.csv, beside sdn.csv', 'Its further names; only for that list.')}
        <div><button class="primary" type="submit">Upload list</button></div>
      </form>
    </section>
    <section class="stack tight">
      <h2>Imported lists</h2>
      ${lists.length === 0 ? NONE : listsTable(frame, lists, names)}
    </section>`;
}

function fileField(name: string, label: string, help: string): Html {
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <input id="${name}" name="${name}" type="file" aria-describedby="${name}-help" />
    <p class="help" id="${name}-help">${help}</p>
  </div>`;
}

/** Where there is no list. */
const NONE = note('warn', html`<p>No list was imported: every applicant goes to review.</p>`);

function waiting(frame: Frame, { staged, names }: ListsParts): Html {
  return html`<section class="stack tight">
    <h2>Waiting to be made current</h2>
    ${table(
      'Lists that wait',
      ['List', 'File', 'Uploaded', 'By', 'State'],
      staged.map(
        (list) =>
          html`<tr>
            <th scope="row"><a href="${SANCTIONS_ADDRESS}/${list.id}">${list.source}</a></th>
            <td class="wrap" data-head="File">${list.fileName}</td>
            <td data-head="Uploaded">${shortMoment(list.uploadedAt, frame.now)}</td>
            <td class="clip short" data-head="By">
              ${names.get(list.uploadedBy) ?? list.uploadedBy}
            </td>
            <td>
              ${list.preview === null ? badge('plain', 'being compared') : badge('warn', 'ready')}
            </td>
          </tr>`,
      ),
      'stacked',
    )}
  </section>`;
}

/** Versions of lists, the newest first. */
function listsTable(
  frame: Frame,
  lists: readonly ImportedList[],
  names: ReadonlyMap<string, string>,
): Html {
  return table(
    'Sanctions lists',
    [
      'List',
      'Version',
      'State',
      'Published',
      'Imported',
      'By',
      html`<span class="num">Parties</span>`,
      html`<span class="num">Names</span>`,
    ],
    lists.map(
      (list) =>
        html`<tr>
          <th scope="row">${list.source}</th>
          <td data-head="Version">
            <code title="${list.version}">${list.version.slice(0, 12)}</code>
          </td>
          <td>${list.current ? badge('good', 'current') : badge('plain', 'superseded')}</td>
          <td class="nowrap" data-head="Published">${publishedWords(list)}</td>
          <td data-head="Imported">${shortMoment(list.importedAt, frame.now)}</td>
          <td class="clip short" data-head="By">
            ${names.get(list.importedBy) ?? list.importedBy}
          </td>
          <td class="num" data-head="Parties">${count(list.entities)}</td>
          <td class="num" data-head="Names">${count(list.names)}</td>
        </tr>`,
    ),
    'stacked',
  );
}

interface StagedParts extends Told {
  list: StagedList;
  names: ReadonlyMap<string, string>;
  /** Names of organisations by id. */
  organisations: ReadonlyMap<string, string>;
}

/** A list that waits: what it would change, and the two things that a person can do with it. */
export function stagedPage(frame: Frame, parts: StagedParts): Html {
  const { list, names } = parts;
  return html`<div class="head">
      <p class="crumb"><a href="${SANCTIONS_ADDRESS}">Sanctions lists</a></p>
      <h1>${list.source}</h1>
      ${badge('warn', 'not current yet')}
    </div>
    ${told(parts)}
    ${facts([
      ['File', list.fileName],
      ['SHA-256', html`<code class="wrap">${list.version}</code>`],
      ['Published', publishedWords(list)],
      [
        'Uploaded',
        html`${moment(list.uploadedAt, frame.now)} by
        ${names.get(list.uploadedBy) ?? list.uploadedBy}; it is deleted a day later`,
      ],
      ['Parties', count(list.entities)],
      ['Names', count(list.names)],
    ])}
    ${
      list.preview === null
        ? note(
            'plain',
            html`<p>
              It is being compared with the list that is current, and every account with both.
              Reload this page in a few seconds; among many accounts it takes minutes.
            </p>`,
          )
        : changes(parts, list.preview)
    }
    ${acts(frame, list)}`;
}

function changes(parts: StagedParts, preview: ListPreview): Html {
  const { added, removed, renamed, against } = preview;
  return html`${matches(parts, preview)}
    <section class="stack tight">
      <h2>Parties</h2>
      <p class="soft">
        ${
          against === null
            ? 'There is no list of this source yet.'
            : html`Beside version <code title="${against}">${against.slice(0, 12)}</code>.`
        }
      </p>
      ${parties('Added', added)} ${parties('Removed', removed)}
      ${parties('With other names', renamed)}
    </section>`;
}

function matches(
  { organisations }: StagedParts,
  { matches: all, accounts, isWhole }: ListPreview,
): Html {
  const compared = html`<p class="soft">
    ${counted(accounts, 'account')} ${accounts === 1 ? 'was' : 'were'}
    compared${isWhole ? '' : ', not all'}.
  </p>`;
  return html`<section class="stack tight">
    <h2>Accounts that would match</h2>
    ${compared}
    ${
      all.length === 0
        ? html`<p>No account matches a party that it does not match now.</p>`
        : html`<p class="prose">
              An active account that matches is suspended and goes to review; one that only
              resembles a name is a question to a reviewer.
            </p>
            ${table(
              'Accounts that would match',
              ['Organisation', 'Outcome', 'Why'],
              all.map(
                ({ orgId, isHit, words }) =>
                  html`<tr>
                    <th scope="row" class="wrap">
                      <a href="/dashboard/service/accounts/${orgId}"
                        >${organisations.get(orgId) ?? orgId}</a
                      >
                    </th>
                    <td>${isHit ? badge('bad', 'matches') : badge('warn', 'resembles')}</td>
                    <td class="wrap">${words.map((text) => html`<p>${text}</p>`)}</td>
                  </tr>`,
              ),
              'stacked',
            )}`
    }
  </section>`;
}

function parties(name: string, { count: all, first }: ChangedParties): Html {
  if (all === 0) return html`<p>${name}: none.</p>`;
  return html`<details class="act">
    <summary>${name}: ${count(all)}</summary>
    ${table(
      name,
      ['Party', 'Name', 'Programme'],
      first.map(
        ({ id, name: called, programme }) =>
          html`<tr>
            <th scope="row"><code>${id}</code></th>
            <td class="wrap">${called}</td>
            <td class="wrap">${programme}</td>
          </tr>`,
      ),
      'stacked',
    )}
    ${all > first.length ? html`<p class="soft">The first ${first.length} by their ids.</p>` : undefined}
  </details>`;
}

function acts(frame: Frame, { id, preview, source }: StagedList): Html {
  return html`<section class="stack tight">
    <h2>Acts</h2>
    ${
      preview === null
        ? undefined
        : act(
            frame,
            {
              summary: 'Make current…',
              action: `${SANCTIONS_ADDRESS}/${id}/apply`,
              button: 'Make current',
              tone: 'primary',
            },
            html`<p class="prose">
                ${
                  preview.against === null
                    ? `It counts at once, for applicants too: there is no list of ${source} before it.`
                    : `It takes the place of the current list of ${source} at once, for applicants too.`
                }
                Every account is then compared with it, and what matches has its consequence: an
                active account is suspended.
                ${
                  preview.against === null
                    ? undefined
                    : html`The list of before is kept; <code>docket sanctions import</code> makes it
                        current again.`
                }
              </p>
              ${textArea({ name: 'reason', label: 'Reason, if there is one to say', max: String(REASON_LENGTH_MAX), required: false, help: 'It stands in the audit log of the service.' })}`,
          )
    }
    ${act(
      frame,
      {
        summary: 'Discard…',
        action: `${SANCTIONS_ADDRESS}/${id}/discard`,
        button: 'Discard list',
        tone: 'danger',
      },
      html`<p class="prose">It is deleted. Nothing else changes; it can be uploaded again.</p>`,
    )}
  </section>`;
}
