import type { Command } from 'commander';
import { loadToolConfig } from '#shared/config/config.ts';
import { dateTime, MINUTE_MS } from '#shared/kernel/time.ts';
import { rotateLaneKey } from '#shared/lanes/files/lane-keys.ts';
import { type ActOptions, actorFrom, recordServiceAct, withActOptions } from './operator.ts';
import { printFields, printJson } from './print.ts';

/** In which a file comes to every host, also by hand. */
const MINUTES = 10;
/** A day: of what is longer ahead the other half is forgotten. */
const MINUTES_MAX = 1_440;

interface RotateOptions extends ActOptions {
  in: number;
}

/** `docket keys rotate-lane`: beside the keys of organisations, the one that seals what is under way. */
export function registerLaneKeyRotation(keys: Command): void {
  withActOptions(
    keys
      .command('rotate-lane')
      .description('make the next key that seals prompts and answers under way, in LANE_KEYS_DIR')
      .option(
        '--in <minutes>',
        'when it seals: by then every machine needs it',
        minutesFrom,
        MINUTES,
      ),
  ).action(rotate);
}

async function rotate(options: RotateOptions): Promise<void> {
  const actor = await actorFrom(options);
  const dir = loadToolConfig().laneKeysDir;
  const { made, kept } = rotateLaneKey(dir, Date.now(), options.in * MINUTE_MS);
  const { id, path } = made;
  const sealsFrom = dateTime(made.sealsFrom);
  const iso = (at: number): string => new Date(at).toISOString();
  // Said before it is written down: it seals then, also where the audit log could not be written.
  if (options.json === true) {
    const older = kept.map((one) => ({ path: one.path, until: iso(one.until) }));
    printJson({ id, path, seals_from: iso(made.sealsFrom), kept: older });
  } else {
    printFields({ id, path, seals_from: sealsFrom });
    process.stdout.write(
      [
        '',
        `Bring it to LANE_KEYS_DIR of every machine with api, inference or receipts processes before ${sealsFrom}.`,
        'No process is restarted: each sees it within a second. Older keys go on opening; delete them everywhere',
        ...kept.map((one) => `  from ${dateTime(one.until)}: ${one.path}`),
        '',
      ].join('\n'),
    );
  }
  await recordServiceAct(
    { action: 'lane_key.made', subject: id, details: { seals_from: iso(made.sealsFrom) } },
    actor,
    `${path} is made`,
  );
}

function minutesFrom(text: string): number {
  if (/^\d{1,4}$/.test(text) && Number(text) <= MINUTES_MAX) return Number(text);
  throw new Error(`--in must be whole minutes from 0 to ${MINUTES_MAX}.`);
}
