import { parseArgs, type ParseArgsConfig } from 'node:util';

/** Ends a program that was called wrongly: with what is wrong in one line, and how it is called. */
export function refuseArguments(problem: string, usage = ''): never {
  process.stderr.write(`${problem}\n${usage === '' ? '' : `\n${usage}`}`);
  return process.exit(2);
}

/** What a program was called with. Asked for help, it ends with its usage. */
export function readArguments<const C extends Omit<ParseArgsConfig, 'args'>>(
  usage: string,
  config: C,
  args: readonly string[] = process.argv.slice(2),
) {
  if (args.includes('--help')) {
    process.stdout.write(usage);
    return process.exit();
  }
  try {
    return parseArgs({ ...config, args: [...args] });
  } catch (error) {
    return refuseArguments(`${(error as Error).message.split('. ')[0]}.`, usage);
  }
}

/** Those that were asked for, in the order in which there are; all of them when none was. */
export function chosen<T extends { name: string }>(
  what: string,
  all: readonly T[],
  names: readonly string[] | undefined,
): readonly T[] {
  const known = all.map(({ name }) => name);
  const unknown = names?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0) {
    refuseArguments(`There is no ${what} ${unknown.join(', ')}. There are ${known.join(', ')}.`);
  }
  return all.filter(({ name }) => names?.includes(name) ?? true);
}
