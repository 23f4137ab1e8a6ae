import { stripVTControlCharacters, styleText } from 'node:util';
import { plain } from '#shared/kernel/plain-text.ts';

type Colour = Parameters<typeof styleText>[0];

const COLOURS: readonly Colour[] = [
  'cyan',
  'magenta',
  'green',
  'yellow',
  'blue',
  'cyanBright',
  'magentaBright',
  'greenBright',
  'yellowBright',
  'blueBright',
];
const LEVEL_COLOURS: Readonly<Record<string, Colour>> = {
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
  debug: 'gray',
  trace: 'gray',
};

/** Fields that the prefix or the line itself shows already. */
const SHOWN_ELSEWHERE = new Set(['level', 'time', 'pid', 'role', 'msg', 'hostname']);
/** A warning is told in a line; what should not happen at all is told in full. */
const WITH_STACK = new Set(['error', 'fatal']);
const NAME_WIDTH = 15;
/** A stack trace is worth reading; a line that fills screens is not. */
const VALUE_CHARS_MAX = 2_000;

export interface OutputOptions {
  write: (text: string) => void;
  colour: boolean;
}

/** The lines of all processes, each with the name of its process in front. */
export class Output {
  readonly #options: OutputOptions;
  readonly #colours = new Map<string, Colour>();

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** A line of a process. JSON log lines are shown as level, message and fields. */
  line(name: string, text: string): void {
    this.#print(name, this.#readable(text));
  }

  /** A line of the launcher's own. */
  say(text: string, colour?: Colour): void {
    this.#print('docket', colour === undefined ? text : this.#paint(colour, text));
  }

  /** Text without a prefix, for what a person is meant to copy. */
  plain(text: string): void {
    this.#options.write(`${text}\n`);
  }

  #print(name: string, text: string): void {
    const prefix = this.#paint(this.#colourOf(name), `${name.padEnd(NAME_WIDTH)} │`);
    for (const line of text.split('\n')) this.#options.write(`${prefix} ${line}\n`);
  }

  #readable(text: string): string {
    if (!text.startsWith('{')) return plainLine(text);
    let entry: Record<string, unknown>;
    try {
      entry = JSON.parse(text) as Record<string, unknown>;
    } catch {
      return plainLine(text);
    }
    const level = typeof entry['level'] === 'string' ? entry['level'] : 'info';
    const fields = Object.entries(entry)
      .filter(([key]) => !SHOWN_ELSEWHERE.has(key))
      .map(([key, value]) => `${key}=${shown(value)}`)
      .join(' ');
    const stack = WITH_STACK.has(level) ? stackOf(entry['err']) : '';
    const message = plain([entry['msg'], fields].filter(Boolean).join('  ')) + stack;
    const colour = LEVEL_COLOURS[level];
    return colour === undefined ? message : this.#paint(colour, `${level} ${message}`);
  }

  #colourOf(name: string): Colour {
    let colour = this.#colours.get(name);
    if (colour === undefined) {
      colour = COLOURS[this.#colours.size % COLOURS.length] ?? 'cyan';
      this.#colours.set(name, colour);
    }
    return colour;
  }

  #paint(colour: Colour, text: string): string {
    return this.#options.colour ? styleText(colour, text, { validateStream: false }) : text;
  }
}

function shown(value: unknown): string {
  const text =
    typeof value === 'string' ? value : isError(value) ? value.message : JSON.stringify(value);
  return text.slice(0, VALUE_CHARS_MAX);
}

/** A line that is not JSON: servers colour theirs, and indent what goes on by tabs. */
function plainLine(text: string): string {
  return plain(stripVTControlCharacters(text).replaceAll('\t', '    '));
}

/** An error as the log describes it. */
function isError(value: unknown): value is { message: string; stack?: unknown } {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, 'message') === 'string'
  );
}

/** Indented: the stack begins with the message, a line of which would otherwise look like one that the process has logged. */
function stackOf(error: unknown): string {
  if (!isError(error) || typeof error.stack !== 'string') return '';
  const lines = error.stack.slice(0, VALUE_CHARS_MAX).split('\n');
  return lines.map((line) => `\n    ${plain(line.trim())}`).join('');
}

/** The output on a terminal or into a pipe; colours only where someone looks, or NO_COLOR is not set. */
export function terminalOutput(stream: NodeJS.WriteStream): Output {
  return new Output({
    write: (text) => void stream.write(text),
    colour: stream.isTTY && stream.hasColors(),
  });
}
