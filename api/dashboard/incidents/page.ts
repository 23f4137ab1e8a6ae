import { html, type Html } from '#api/html.ts';
import {
  HISTORY_DAYS,
  INCIDENT_TEXT_MAX,
  INCIDENT_TITLE_MAX,
  type Incident,
} from '#shared/catalogue/service-history.ts';
import { badge, choices, field, moment, textArea, told, type Told } from '../parts/elements.ts';
import { act, form, type Frame } from '../parts/layout.ts';

export interface IncidentsParts extends Told {
  incidents: readonly Incident[];
  /** Parts that an incident may be of. */
  /** The names of the parts by what they are told as, as /status has them. */
  known: ReadonlyMap<string, string>;
  /** The form that was not taken. */
  typed?: { title: string; text: string; components: readonly string[] };
  /** The same of one that says more of an incident. */
  more?: TypedMore;
}

interface TypedMore {
  id: string;
  text: string;
  isOver: boolean;
}

const ADDRESS = '/dashboard/service/incidents';

/** Incidents of the last days, and what everyone is told of them. */
export function incidentsPage(
  frame: Frame,
  { incidents, known, typed, more, ...said }: IncidentsParts,
): Html {
  return html`<div class="head"><h1>Incidents</h1></div>
    ${told(said)}
    <p class="prose soft">
      What is told here stands at <a href="/status">/status</a> and in its feed, in these words, for
      ${HISTORY_DAYS} days after it is over. Words that were told stay as they are.
    </p>
    <section class="stack tight">
      <h2>Tell of an incident</h2>
      ${form(
        frame,
        { action: ADDRESS, button: 'Tell everyone', tone: 'primary' },
        html`${field({ name: 'title', label: 'Title', value: typed?.title ?? '', max: String(INCIDENT_TITLE_MAX), required: true })}
          ${textArea({ name: 'text', label: 'What is known', value: typed?.text ?? '', max: String(INCIDENT_TEXT_MAX), help: 'What does not work, for whom, and what they can do meanwhile.' })}
          <fieldset>
            <legend>Parts (none for the whole service)</legend>
            ${choices(
              'checkbox',
              'component',
              [...known].map(([component, name]) => ({
                value: component,
                words: name,
                isChosen: typed?.components.includes(component) === true,
              })),
            )}
          </fieldset>`,
      )}
    </section>
    <section class="stack">
      <h2>Last ${HISTORY_DAYS} days</h2>
      ${
        incidents.length === 0
          ? html`<p class="soft">Nothing was told in these days.</p>`
          : incidents.map((incident) =>
              article(frame, incident, {
                known,
                typed: more?.id === incident.id ? more : undefined,
              }),
            )
      }
    </section>`;
}

function article(
  frame: Frame,
  { id, title, components, beganAt, endedAt, words }: Incident,
  { known, typed }: { known: ReadonlyMap<string, string>; typed: TypedMore | undefined },
): Html {
  const names = components.map((component) => known.get(component) ?? component);
  return html`<article class="stack tight">
    <h3>${title} ${endedAt === null ? badge('warn', 'not over yet') : badge('plain', 'over')}</h3>
    <p class="soft small">
      Since ${moment(beganAt, frame.now)}; ${names.join(', ') || 'the whole service'}
    </p>
    ${words.map(({ at, text }) => html`<p class="prose">${moment(at, frame.now)} ${text}</p>`)}
    ${act(
      frame,
      {
        summary: 'Say more of it',
        isOpen: typed !== undefined,
        action: `${ADDRESS}/${id}`,
        button: 'Tell everyone',
      },
      html`${textArea({ name: 'text', id: `text-${id}`, label: 'What is known now', value: typed?.text ?? '', max: String(INCIDENT_TEXT_MAX) })}
      ${
        endedAt === null
          ? choices('checkbox', 'over', [
              { value: 'yes', words: 'It is over', isChosen: typed?.isOver === true },
            ])
          : undefined
      }`,
    )}
  </article>`;
}
