import { html, type Html } from '#api/html.ts';
import type { FailedJob } from '#shared/jobs/redis/job-queues.ts';
import { regionOfLane, shardOfLane } from '#shared/lanes/keys.ts';
import type { LaneDepth } from '#shared/lanes/redis/depths.ts';
import { count } from '#shared/methodology/readable.ts';
import type { JobFigures, RoundFigures } from '../operations.ts';
import { age, card } from '../parts/figures.ts';
import type { Frame } from '../parts/layout.ts';
import { badge, shortMoment, table } from '../parts/elements.ts';

export interface QueuesParts {
  lanes: readonly LaneDepth[];
  jobs: readonly JobFigures[];
  rounds: readonly RoundFigures[];
  failures: readonly FailedJob[];
}

/** What is on its way: requests and receipts on lanes, and what runs in the background. */
export function queuesPage(frame: Frame, parts: QueuesParts): Html {
  return html`<div class="head"><h1>Queues</h1></div>
    ${lanesSection(frame, parts)} ${jobsSection(parts)} ${failuresSection(frame, parts)}
    ${roundsSection(frame, parts)}`;
}

const sum = (lanes: readonly LaneDepth[], figure: (lane: LaneDepth) => number): string =>
  count(lanes.reduce((total, lane) => total + figure(lane), 0));

function lanesSection(frame: Frame, { lanes }: QueuesParts): Html {
  const oldest = lanes.flatMap(({ oldestAt }) => oldestAt ?? []);
  return html`<section class="stack tight">
    <h2>Lanes</h2>
    <dl class="figures">
      ${card(
        'Waiting',
        sum(lanes, ({ waiting }) => waiting),
        'no worker has taken them yet',
      )}
      ${card(
        'Running',
        sum(lanes, ({ running }) => running),
        'a worker holds them',
      )}
      ${card('Oldest', oldest.length === 0 ? 'none' : age(frame.now - Math.min(...oldest)))}
      ${card(
        'Set aside',
        sum(lanes, ({ setAside }) => setAside),
        'no receipt could be made of them',
      )}
    </dl>
    ${table(
      'Lanes',
      ['Lane', 'Shard', 'Waiting', 'Running', 'Oldest', 'Set aside'].map((text, i) =>
        i < 2 ? text : html`<span class="num">${text}</span>`,
      ),
      lanes.map(
        ({ lane, waiting, running, oldestAt, setAside }) =>
          html`<tr>
            <th scope="row">${nameOf(lane)}</th>
            <td data-head="Shard">${shardOfLane(lane)}</td>
            <td class="num" data-head="Waiting">${count(waiting)}</td>
            <td class="num" data-head="Running">${count(running)}</td>
            <td class="num" data-head="Oldest">
              ${oldestAt === null ? html`<span class="soft">none</span>` : age(frame.now - oldestAt)}
            </td>
            <td class="num" data-head="Set aside">
              ${setAside === 0 ? '0' : badge('bad', count(setAside))}
            </td>
          </tr>`,
      ),
      'stacked',
    )}
    <p class="help">
      An entry in a receipts lane holds up to 16 requests. What is set aside stays in the Redis
      stream of that name, up to the newest 10,000 per lane.
    </p>
  </section>`;
}

const nameOf = (lane: string): string =>
  lane.endsWith(':receipts') ? 'receipts' : `inference, ${regionOfLane(lane)}`;

function jobsSection({ jobs }: QueuesParts): Html {
  return html`<section class="stack tight">
    <h2>Jobs</h2>
    ${table(
      'Jobs',
      ['Job', 'Waiting', 'Active', 'Delayed', 'Failed'].map((text, i) =>
        i < 1 ? text : html`<span class="num">${text}</span>`,
      ),
      jobs.map(
        ({ name, waiting, active, delayed, failed }) =>
          html`<tr>
            <th scope="row"><code>${name}</code></th>
            <td class="num" data-head="Waiting">${count(waiting)}</td>
            <td class="num" data-head="Active">${count(active)}</td>
            <td class="num" data-head="Delayed">${count(delayed)}</td>
            <td class="num" data-head="Failed">
              ${failed === 0 ? '0' : badge('warn', count(failed))}
            </td>
          </tr>`,
      ),
      'stacked',
    )}
    <p class="help">
      Delayed jobs are waiting for their next run. The newest 1,000 failures of each job are kept;
      the next round picks up what they left undone.
    </p>
  </section>`;
}

function failuresSection(frame: Frame, { failures }: QueuesParts): Html {
  return html`<section class="stack tight">
    <h2>Newest failures</h2>
    ${
      failures.length === 0
        ? html`<p class="soft">No job has failed for good.</p>`
        : table(
            'Newest failures',
            ['When', 'Job', 'Attempts', 'Why'],
            failures.map(
              ({ name, at, attempts, reason }) =>
                html`<tr>
                  <td>${shortMoment(at, frame.now)}</td>
                  <td class="nowrap"><code>${name}</code></td>
                  <td class="num" data-head="Attempts">${attempts}</td>
                  <td class="wrap">${reason.slice(0, 500)}</td>
                </tr>`,
            ),
            'stacked',
          )
    }
  </section>`;
}

function roundsSection(frame: Frame, { rounds }: QueuesParts): Html {
  return html`<section class="stack tight">
    <h2>By the clock</h2>
    ${table(
      'By the clock',
      ['Job', 'Runs', 'Last round', 'Outcome'],
      rounds.map(
        ({ name, everyMs, last }) =>
          html`<tr>
            <th scope="row"><code>${name}</code></th>
            <td data-head="Runs">every ${age(everyMs).replace('.0', '')}</td>
            <td data-head="Last round">
              ${last === null ? html`<span class="soft">none yet</span>` : shortMoment(last.at, frame.now)}
            </td>
            <td class="wrap" data-head="Outcome">${outcomeOf(last)}</td>
          </tr>`,
      ),
      'stacked',
    )}
    <p class="help">
      One process runs each round. The next round picks up what a failed one left undone.
    </p>
  </section>`;
}

function outcomeOf(last: RoundFigures['last']): Html | string {
  if (last === null) return '';
  if (last.failure === null) return badge('good', 'done');
  return html`${badge('warn', `failed, try ${last.attempts}`)} ${last.failure.slice(0, 500)}`;
}
