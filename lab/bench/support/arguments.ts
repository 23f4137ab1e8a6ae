import { parseArgs, type ParseArgsConfig } from 'node:util';

/** Ends a benchmark that was called wrongly with one line. */
export function refuseArguments(usage: string, problem: string): never {
  process.stderr.write(`${problem} Usage: npm run bench ${usage}\n`);
  return process.exit(2);
}

/** The numbers after a benchmark's name, in the order of what they are when they are absent. */
export function readNumbers<Name extends string>(
  usage: string,
  defaults: Readonly<Record<Name, number>>,
  given: readonly string[] = process.argv.slice(2),
): Record<Name, number> {
  const names = Object.keys(defaults) as Name[];
  if (given.includes('--help')) help(usage);
  const [tooMany] = given.slice(names.length);
  if (tooMany !== undefined) refuseArguments(usage, `${JSON.stringify(tooMany)} is one too many.`);
  const read = names.map((name, i): [Name, number] => [
    name,
    given[i] === undefined ? defaults[name] : readNumber(usage, name, given[i]),
  ]);
  return Object.fromEntries(read) as Record<Name, number>;
}

/** The options after a benchmark's name. */
export function readOptions<const O extends NonNullable<ParseArgsConfig['options']>>(
  usage: string,
  options: O,
  given: readonly string[] = process.argv.slice(2),
) {
  if (given.includes('--help')) help(usage);
  try {
    return parseArgs({ options, args: [...given] }).values;
  } catch (error) {
    return refuseArguments(usage, (error as Error).message.split('. ')[0]! + '.');
  }
}

/** A number above zero. */
export function readNumber(usage: string, name: string, text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && number > 0 && Number.isFinite(number)) return number;
  return refuseArguments(usage, `${name}: ${JSON.stringify(text)} is no number above zero.`);
}

/** Numbers above zero with commas between them; none of an empty text. */
export function readList(usage: string, name: string, text: string): number[] {
  return text === '' ? [] : text.split(',').map((one) => readNumber(usage, name, one));
}

function help(usage: string): never {
  process.stdout.write(`Usage: npm run bench ${usage}\n`);
  return process.exit();
}
