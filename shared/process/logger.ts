import {
  type Bindings,
  type ChildLoggerOptions,
  type DestinationStream,
  type LogFn,
  type Logger,
  pino,
} from 'pino';
import { describeError, hideCredentials, scrubFields } from './redaction.ts';

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
    hooks: { logMethod: withoutRawMessage, streamWrite: hideCredentials },
  };
  // Written at once, not buffered: the last lines before a crash are the ones that matter.
  const root = pino(options, destination ?? pino.destination({ fd: 1, sync: true }));
  const makeChild: unknown = Reflect.get(root, 'child');
  return withScrubbedChildren(root, makeChild as MakeChild);
}

type MakeChild = (this: Logger, fields: Bindings, options: ChildLoggerOptions) => Logger;

/** Pino writes the fields of a child logger as they come; here they are cleaned like all others. */
function withScrubbedChildren(logger: Logger, makeChild: MakeChild): Logger {
  const child = (fields: Bindings, options: ChildLoggerOptions = {}): Logger =>
    withScrubbedChildren(makeChild.call(logger, scrubFields(fields), options), makeChild);
  Object.assign(logger, { child });
  return logger;
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
