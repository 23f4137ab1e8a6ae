import { html, type Html } from '#api/html.ts';
import { type CommandLine, operatorKeyLabel, spacedCode } from '#shared/persons/command-line.ts';
import { counted } from '#shared/methodology/readable.ts';
import { type Frame, token } from '../parts/layout.ts';
import { ACT, field, moment, note, table, told, type Told } from '../parts/elements.ts';

const ADDRESS = '/dashboard/service/command-line';

export interface CommandLineParts extends Told {
  /** As it was typed, or stands in the address. */
  code: string;
  /** The command line that waits under it; undefined where none was asked for, null where none waits. */
  waiting?: CommandLine | null;
  /** Those that act in the reader's name. */
  own: readonly CommandLine[];
}

/** Where a person allows `docket` on some machine to act in their name, and ends that. */
export function commandLinePage(frame: Frame, parts: CommandLineParts): Html {
  return html`<div class="head"><h1>Command line</h1></div>
    ${told(parts)}
    <section class="stack tight">
      <h2>Allow a command line</h2>
      <p class="prose">
        <code>docket login</code> prints a code. For twelve hours, whatever it does is recorded
        under your name. <code>docket operator-keys issue</code> does the same for a program, for
        days.
      </p>
      <form class="row end" method="post" action="${ADDRESS}">
        ${token(frame)}
        ${field({ name: 'code', label: 'Code', value: parts.code, required: true, max: '20', autocomplete: 'off' })}
        <button type="submit">Look it up</button>
      </form>
      ${asked(frame, parts.waiting)}
    </section>
    <section class="stack tight">
      <h2>Command lines and keys that act in your name</h2>
      ${
        parts.own.length === 0
          ? html`<p class="soft">There are none.</p>`
          : table(
              'Command lines and keys that act in your name',
              ['User and machine, or key', 'Allowed', 'Until', ACT],
              parts.own.map((each) => ownRow(frame, each)),
              'stacked',
            )
      }
    </section>`;
}

/** What is allowed by the click: a person has to know the machine, since others can send them an address with a code. */
function asked(frame: Frame, waiting: CommandLine | null | undefined): Html | undefined {
  if (waiting === undefined) return undefined;
  if (waiting === null) {
    return note(
      'plain',
      html`<p>
        No command line is waiting with this code: it has expired, was already allowed, or never
        existed. Run the command again for a new one.
      </p>`,
    );
  }
  const { code, place, askedAt, key } = waiting;
  const command = key === null ? 'docket login' : 'docket operator-keys issue';
  const wanted =
    key === null
      ? undefined
      : html`<p class="prose">
          It wants the operator key <strong>${key.name}</strong>: whatever program has that acts in
          your name at the admin API for ${counted(key.days, 'day')}.
        </p>`;
  return html`<form class="form" method="post" action="${ADDRESS}/allow">
    ${token(frame)}<input type="hidden" name="code" value="${code}" />
    ${wanted}
    <p class="prose">
      <code>${place}</code> asked ${moment(askedAt, frame.now)}. Allow it only if you have typed
      <code>${command}</code> there yourself and it shows <strong>${spacedCode(code)}</strong>.
    </p>
    <div><button class="primary" type="submit">Allow it to act in my name</button></div>
  </form>`;
}

function ownRow(frame: Frame, { code, place, allowedAt, until, key }: CommandLine): Html {
  const what = key === null ? place : `Operator key ${operatorKeyLabel(key.name, code)}`;
  return html`<tr>
    <th scope="row" class="clip">${key === null ? html`<code>${place}</code>` : what}</th>
    <td class="nowrap" data-head="Allowed">${moment(allowedAt ?? until, frame.now)}</td>
    <td class="nowrap" data-head="Until">${moment(until, frame.now)}</td>
    <td class="num">
      <form method="post" action="${ADDRESS}/end">
        ${token(frame)}<input type="hidden" name="code" value="${code}" />
        <button type="submit" aria-label="End ${what}">End</button>
      </form>
    </td>
  </tr>`;
}
