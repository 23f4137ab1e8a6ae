import {
  type Bindings,
  type ChildLoggerOptions,
  type DestinationStream,
  type LogFn,
  type Logger,
  pino,
} from 'pino';
import { plainJson } from '#shared/kernel/plain-text.ts';
import { describeError, hideCredentials, scrubFields } from './redaction.ts';
import { Repetitions } from './repetitions.ts';

export interface LoggerOptions {
  /** Which process writes; on every line. */
  role: string;
  /** Least severity that is written. */
  level: string;
  /** Standard output when absent. */
  destination?: DestinationStream;
}

/**
 * A logger that writes one JSON object per line. Prompts, completions and credentials do not get
 * through it, wherever in the logged object they stand; errors keep type, code, message and stack.
 */
export function createLogger({ role, level, destination }: LoggerOptions): Logger {
  const options = {
    level,
    base: { role, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: scrubFields,
    },
    // `scrubFields` has described errors already; pino's own description would lose their types.
    serializers: { err: (described: unknown) => described },
    hooks: { logMethod: withoutRepetition(new Repetitions()), streamWrite: writtenLine },
  };
  // Written at once, not buffered: the last lines before a crash are the ones that matter.
  const root = pino(options, destination ?? pino.destination({ fd: 1, sync: true }));
  const makeChild: unknown = Reflect.get(root, 'child');
  return withScrubbedChildren(root, makeChild as MakeChild);
}

/** Without credentials, and on one line for every program that shows it: pino leaves U+2028, C1 controls and the like as they are. */
function writtenLine(line: string): string {
  return plainJson(hideCredentials(line));
}

type MakeChild = (this: Logger, fields: Bindings, options: ChildLoggerOptions) => Logger;

/** Pino writes the fields of a child logger as they come; here they are cleaned like all others. */
function withScrubbedChildren(logger: Logger, makeChild: MakeChild): Logger {
  const child = (fields: Bindings, options: ChildLoggerOptions = {}): Logger =>
    withScrubbedChildren(makeChild.call(logger, scrubFields(fields), options), makeChild);
  Object.assign(logger, { child });
  return logger;
}

/** A failure is told once and then counted: what goes on while a store is away is one state, and not news. */
const FAILURES_MAX = 1;
/** What happens to single requests, keys or receipts is told one by one, as long as it is not a flood. */
const OCCURRENCES_MAX = 20;
const WARN = 40;
const FATAL = 60;

type LogMethod = (this: Logger, args: unknown[], method: LogFn, level: number) => void;

/** Warnings and errors that repeat within seconds become a count: the last of them once more, with `repeated`. */
function withoutRepetition(repetitions: Repetitions): LogMethod {
  return function logOnce(this: Logger, args, method, level) {
    const [first] = args;
    if (level >= WARN && level < FATAL && typeof first === 'object' && first !== null) {
      const failure = failureIn(first);
      const event = String(Reflect.get(first, 'event') ?? '');
      const tell = (repeated: number): void => {
        const fields = first instanceof Error ? { err: first } : first;
        withoutRawMessage.call(this, [{ ...fields, repeated }, ...args.slice(1)], method);
      };
      const key = `${level} ${event} ${failure ?? ''}`;
      const most = failure === undefined ? OCCURRENCES_MAX : FAILURES_MAX;
      if (!repetitions.admit(key, most, tell)) return;
    }
    withoutRawMessage.call(this, args, method);
  };
}

/** Ids and numbers in a message: two that differ in them alone say the same. */
const PARTICULARS = /\b(?:[a-z]{2,5}_)?[0-9A-Za-z]*\d[0-9A-Za-z]*\b/g;
const MESSAGE_CHARS_MAX = 200;

/** By what a line's failure is told from others; undefined for a line about something that happened. */
function failureIn(line: object): string | undefined {
  const error: unknown = line instanceof Error ? line : Reflect.get(line, 'err');
  if (error instanceof Error) {
    const message = error.message.slice(0, MESSAGE_CHARS_MAX).replaceAll(PARTICULARS, '#');
    return `${error.name} ${String(Reflect.get(error, 'code'))} ${message}`;
  }
  const message: unknown = Reflect.get(line, 'message');
  return typeof message === 'string'
    ? message.slice(0, MESSAGE_CHARS_MAX).replaceAll(PARTICULARS, '#')
    : undefined;
}

/** Without words of our own pino repeats the error's message, which must pass through us first. */
function withoutRawMessage(this: Logger, args: unknown[], method: LogFn): void {
  const [first, message] = args;
  const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err;
  if (error instanceof Error) {
    const fields = first instanceof Error ? { err: first } : first;
    method.call(this, fields, (message as string | undefined) ?? describeError(error).message);
  } else {
    method.apply(this, args as Parameters<LogFn>);
  }
}

export type { Logger } from 'pino';
