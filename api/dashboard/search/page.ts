import { html, type Html } from '#api/html.ts';
import { note } from '../parts/elements.ts';
import { PLACES_SHOWN_MAX, type Place } from './find.ts';

/** Longer than any id, name or address that is looked for. */
export const QUESTION_CHARS_MAX = 300;

export interface Found {
  question: string;
  /** The organisation that is looked through; undefined for all that are open to the person. */
  organisation: string | undefined;
  /** Whether a whole key was typed, of which little is left. */
  hadKey: boolean;
  /** The organisations that were looked through, where that is not all of them. */
  only: readonly string[] | undefined;
  /** By kind. */
  groups: readonly (readonly [kind: string, places: readonly Place[]])[];
}

export function searchPage({ question, organisation, hadKey, groups, only }: Found): Html {
  const some = groups.filter(([, places]) => places.length > 0);
  return html`<div class="head"><h1>Search</h1></div>
    <form
      class="row end"
      method="get"
      action="/dashboard/search"
      role="search"
      aria-label="Search again"
    >
      <div class="field grow">
        <label for="question">Name or id</label>
        <input
          id="question"
          type="search"
          name="q"
          value="${question}"
          maxlength="${QUESTION_CHARS_MAX}"
          autocomplete="off"
        />
      </div>
      <button type="submit" name="in" value="${organisation ?? ''}">Search</button>
    </form>
    ${
      hadKey
        ? note(
            'warn',
            'That was a whole key. It is now in the address of this page, and in your browser’s history: rotate the key if others can read that. You can search by its first eight or last four characters.',
          )
        : undefined
    }
    <div class="found" id="found">
      ${some.map(
        ([kind, places]) =>
          html`<section class="stack tight">
            <h2>${kind}</h2>
            <ul>
              ${places.map(
                ({ address, name, note: more }) =>
                  html`<li>
                    <a href="${address}">${name}</a>
                    ${more === undefined ? undefined : html`<span class="soft small">${more}</span>`}
                  </li>`,
              )}
            </ul>
            ${
              places.length < PLACES_SHOWN_MAX
                ? undefined
                : html`<p class="soft small">There may be more: add a word or a few letters.</p>`
            }
          </section>`,
      )}
      ${some.length === 0 ? nothing(question) : undefined}
      ${
        only === undefined
          ? undefined
          : html`<p class="soft small prose">
              You are in more organisations than are searched at once. These were:
              ${only.join(', ')}. Open a page of another one to search in it.
            </p>`
      }
    </div>`;
}

const nothing = (question: string): Html =>
  question === ''
    ? html`<p class="soft prose">
        Search pages by name, keys by name, id, first eight or last four characters, people by name
        or e-mail address, and the documentation. The whole id of a receipt, request, answer, key or
        pack opens its page.
      </p>`
    : html`<p class="prose">
        Nothing found that you can open. Receipts, requests and answers are found by their whole id,
        for as long as they are kept.
      </p>`;
