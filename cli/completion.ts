import type { Command } from 'commander';

/** What may follow a command: each word with what it means. */
interface Place {
  /** From `docket` on. */
  path: string;
  words: readonly (readonly [word: string, means: string])[];
}

/** Every command of the table, with what it takes. */
function placesIn(command: Command, path: string): Place[] {
  const options = command.options.flatMap(({ long, description, hidden }) =>
    typeof long === 'string' && !hidden ? [[long, description] as const] : [],
  );
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((choice) => [choice, description] as const),
  );
  const commands = command.commands.map((one) => [one.name(), one.description()] as const);
  const help = ['--help', 'what is possible'] as const;
  return [
    { path, words: [...commands, ...choices, ...options, help] },
    ...command.commands.flatMap((one) => placesIn(one, `${path} ${one.name()}`)),
  ];
}

const bashQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const fishQuoted = (text: string): string =>
  `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\'`)}'`;
const linesOf = (places: readonly Place[], line: (place: Place) => string): string =>
  places.map(line).join('\n');
/** A word goes on with the path where the two together are one. */
const isPath = (places: readonly Place[]): string =>
  places.map(({ path }) => bashQuoted(path)).join('|');

function forBash(places: readonly Place[]): string {
  const wordsOf = ({ words }: Place): string => words.map(([word]) => word).join(' ');
  return `_docket() {
  local at=docket word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in ${isPath(places)}) at="$at $word" ;; esac
  done
  case "$at" in
${linesOf(places, (place) => `    '${place.path}') words=${bashQuoted(wordsOf(place))} ;;`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _docket docket
`;
}

function forZsh(places: readonly Place[]): string {
  const entryOf = ([word, means]: Place['words'][number]): string =>
    bashQuoted(`${word}:${means.replaceAll(':', String.raw`\:`)}`);
  return `_docket() {
  local at=docket word
  local -a entries
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    case "$at $word" in ${isPath(places)}) at="$at $word" ;; esac
  done
  case "$at" in
${linesOf(places, ({ path, words }) => `    '${path}') entries=(${words.map(entryOf).join(' ')}) ;;`)}
  esac
  _describe docket entries || _files
}
compdef _docket docket
`;
}

function forFish(places: readonly Place[]): string {
  const paths = places.map(({ path }) => fishQuoted(path)).join(' ');
  const lineOf = (path: string, [word, means]: Place['words'][number]): string => {
    const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`;
    return `complete -c docket -n '__docket_at "${path}"' ${what} -d ${fishQuoted(means)}`;
  };
  return `function __docket_at
  set -l at docket
  for word in (commandline -opc)[2..-1]
    contains -- "$at $word" ${paths}; and set at "$at $word"
  end
  test "$at" = "$argv[1]"
end
${linesOf(places, ({ path, words }) => words.map((word) => lineOf(path, word)).join('\n'))}
`;
}

const SCRIPTS = { bash: forBash, zsh: forZsh, fish: forFish };
export type Shell = keyof typeof SCRIPTS;
export const SHELLS = Object.keys(SCRIPTS) as readonly Shell[];

/** A script by which a shell completes commands, options and choices of this program, and elsewhere names of files. */
export function completionFor(shell: Shell, program: Command): string {
  return SCRIPTS[shell](placesIn(program, program.name()));
}
