import type { FailedJob } from '#shared/jobs/redis/job-queues.ts';
import { regionOfLane } from '#shared/lanes/keys.ts';
import type { LaneDepth } from '#shared/lanes/redis/depths.ts';
import type { Peer } from '#shared/lanes/redis/peers.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { LedgerBacklog } from '#shared/ledger/postgres/integration.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import { MAXIMUM_MERGE_DELAY_SECONDS } from '#shared/receipts/document.ts';
import type { RoundFigures } from '../operations.ts';
import { age } from '../parts/figures.ts';
import type { OperatedRegion } from '../regions/page.ts';

/** Something that a person has to look at now. */
export interface Alarm {
  /** `bad` costs callers or evidence; `warn` can wait for hours. */
  tone: 'bad' | 'warn';
  title: string;
  /** What it means, or what is known of it. */
  words: string;
  /** Where more stands, or where it is mended. */
  place: readonly [address: string, name: string];
}

/** What is looked at. */
export interface Watched {
  /** Why nothing can be written to Redis; undefined where it can. */
  redisRefusal: string | undefined;
  /** The processes that run, by their ids; null while Redis does not say. */
  peers: ReadonlyMap<string, Peer> | null;
  /** Regions, lanes and jobs; null while Redis does not say. */
  regions: readonly OperatedRegion[] | null;
  lanes: readonly LaneDepth[] | null;
  jobs: { rounds: readonly RoundFigures[]; failures: readonly FailedJob[] } | null;
  backlog: LedgerBacklog;
  parked: number;
  lettersGivenUp: number;
  /** Sanctions lists that are current. */
  lists: number;
  /** Epoch milliseconds. */
  now: number;
}

/** A lane is emptied within milliseconds; a burst, or a worker that is started again, takes no longer than this. */
const LANE_WAITS_MS = 5_000;

const GUIDE = '/docs/guides/operations';
const SERVICE = '/dashboard/service';

/** What alarms, the worst first. */
export function alarmsOf(watched: Watched): Alarm[] {
  const all = [
    ...redisAlarms(watched),
    ...ledgerAlarms(watched),
    ...regionAlarms(watched),
    ...laneAlarms(watched),
    ...processAlarms(watched),
    ...jobAlarms(watched),
    ...vettingAlarms(watched),
  ];
  return all.toSorted((one, other) => Number(one.tone === 'warn') - Number(other.tone === 'warn'));
}

/** What a demoted server answers, and what it says of itself. */
const DEMOTED = /READONLY|its role is/;

function redisAlarms({ redisRefusal: refusal }: Watched): Alarm[] {
  if (refusal === undefined) return [];
  const isDemoted = DEMOTED.test(refusal);
  return some(
    alarm('bad', isDemoted ? 'Redis was demoted' : 'Redis takes no writes', {
      words: `${isDemoted ? `The server that answers takes no writes: ${refusal}` : refusal}. Requests for inference get 503 meanwhile.`,
      place: [`${GUIDE}#redis-is-away`, 'What to do'],
    }),
  );
}

function ledgerAlarms({ backlog, parked }: Watched): Alarm[] {
  const { haltedLogs, quarantined, pending, oldestMs } = backlog;
  return some(
    haltedLogs > 0 &&
      alarm('bad', counted(haltedLogs, 'halted log'), {
        words: 'A log contradicts itself or what was published; nothing is appended to it.',
        place: ['#ledger', 'Which'],
      }),
    quarantined > 0 &&
      alarm('bad', `${counted(quarantined, 'receipt')} in quarantine`, {
        words: 'They could not be integrated.',
        place: ['#ledger', 'Which'],
      }),
    pending > 0 &&
      oldestMs > MAXIMUM_MERGE_DELAY_SECONDS * 1_000 &&
      alarm('bad', 'Receipts wait for the ledger', {
        words: `The oldest of ${count(pending)} has waited for ${age(oldestMs)}; ${MAXIMUM_MERGE_DELAY_SECONDS} seconds are promised.`,
        place: [`${GUIDE}#the-merge-delay-is-broken`, 'What to do'],
      }),
    parked > 0 &&
      alarm('warn', 'Parked recalculations', {
        words: 'Degraded receipts are not estimated again by themselves any more.',
        place: ['#recalculations', 'Which'],
      }),
  );
}

const REGION_ALARMS = {
  degraded: ['bad', 'Requests pinned to it are refused.'],
  saturated: ['warn', 'It is full: requests pinned to it are refused for the moment.'],
  impaired: ['warn', 'Some of its models cannot be had.'],
} as const;

function regionAlarms({ regions }: Watched): Alarm[] {
  return (regions ?? []).flatMap(({ line, override, serving, openCircuits }) => {
    if (line.word === 'normal' || line.word === 'decommissioned') return [];
    const [tone, effect] = REGION_ALARMS[line.word];
    const circuits = openCircuits.length;
    const why = [
      override !== undefined && `An operator has set it to ${override}.`,
      serving === undefined && 'No worker serves it.',
      circuits > 0 &&
        `${counted(circuits, 'endpoint')} failed and ${circuits === 1 ? 'is' : 'are'} not asked for the moment.`,
    ];
    return some(
      alarm(tone, `${line.name} is ${line.word}`, {
        words: [effect, ...why].filter((text) => text !== false).join(' '),
        place: [`${SERVICE}/regions`, 'Regions'],
      }),
    );
  });
}

function laneAlarms({ lanes, now }: Watched): Alarm[] {
  const all = lanes ?? [];
  const setAside = all.reduce((sum, lane) => sum + lane.setAside, 0);
  const late = all.filter(
    ({ waitingSince }) => waitingSince !== null && now - waitingSince > LANE_WAITS_MS,
  );
  return some(
    ...late.map(({ lane, waiting, waitingSince }) => {
      const isOfReceipts = lane.endsWith(':receipts');
      return alarm('warn', isOfReceipts ? 'Receipts wait' : 'Requests wait', {
        words: `${isOfReceipts ? 'A lane of receipts' : `A lane of ${regionOfLane(lane)}`} has ${counted(waiting, 'entry', 'entries')} that no worker has taken, the oldest for ${age(now - waitingSince!)}.`,
        place: [`${SERVICE}/queues`, 'Queues'],
      });
    }),
    setAside > 0 &&
      alarm('bad', 'Outcomes were set aside', {
        words: `No receipt could be made of ${count(setAside)}.`,
        place: [`${GUIDE}#set-aside`, 'What to do'],
      }),
  );
}

/** Roles without which requests are not answered, and what comes of that. */
const NEEDED_ROLES = {
  inference: 'Requests wait until their time is over.',
  receipts: 'Answers go out with pending receipts.',
} as const;

function processAlarms({ peers }: Watched): Alarm[] {
  if (peers === null) return [];
  const builds = new Set([...peers.values()].map(({ build }) => build)).size;
  const catalogues = new Set([...peers.values()].map(({ catalogue }) => catalogue)).size;
  const gone = Object.entries(NEEDED_ROLES).filter(
    ([role]) => ![...peers.keys()].some((id) => id.startsWith(`${role}-`)),
  );
  return some(
    ...gone.map(([role, effect]) =>
      alarm('bad', `No process of ${role} runs`, {
        words: effect,
        place: [`${GUIDE}#a-process-or-a-role-is-gone`, 'What to do'],
      }),
    ),
    builds > 1 &&
      alarm('warn', `Processes are of ${builds} builds`, {
        words: 'An upgrade ends with those of the older one started again.',
        place: ['#processes', 'Which'],
      }),
    catalogues > 1 &&
      alarm('warn', `Processes have ${catalogues} catalogues`, {
        words: 'SIGHUP has a process read its own again.',
        place: ['#processes', 'Which'],
      }),
  );
}

function jobAlarms({ jobs, lettersGivenUp, now }: Watched): Alarm[] {
  const givenUp = (jobs?.failures ?? []).filter(({ at }) => now - at < DAY_MS);
  const failing = (jobs?.rounds ?? []).filter(({ last }) => (last?.failure ?? null) !== null);
  const names = (all: readonly { name: string }[]): string =>
    [...new Set(all.map(({ name }) => name))].join(', ');
  return some(
    givenUp.length > 0 &&
      alarm('warn', 'Jobs were given up', {
        words: `In the last 24 hours: ${names(givenUp)}.`,
        place: [`${SERVICE}/queues`, 'Queues'],
      }),
    failing.length > 0 &&
      alarm('warn', 'Jobs by the clock fail', {
        words: `The last round of ${names(failing)} failed; the next one picks up what it left undone.`,
        place: [`${SERVICE}/queues`, 'Queues'],
      }),
    lettersGivenUp > 0 &&
      alarm('warn', 'E-mails were given up', {
        words: `${count(lettersGivenUp)} could not be sent.`,
        place: ['#letters', 'Which'],
      }),
  );
}

function vettingAlarms({ lists }: Watched): Alarm[] {
  return some(
    lists === 0 &&
      alarm('warn', 'No sanctions list', {
        words: 'No list was imported: every applicant goes to review.',
        place: [`${SERVICE}/sanctions`, 'Upload one'],
      }),
  );
}

function alarm(tone: Alarm['tone'], title: string, rest: Omit<Alarm, 'tone' | 'title'>): Alarm {
  return { tone, title, ...rest };
}

const some = (...alarms: readonly (Alarm | false)[]): Alarm[] =>
  alarms.filter((each) => each !== false);
