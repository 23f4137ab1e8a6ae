import { BadRequest } from './input.ts';

/**
 * The ways in which one call is to go wrong. They are named in the header `x-sandbox-fault` or the body field
 * `sandbox_fault` (a gateway forwards unknown fields, but not unknown headers), as
 * `name=value; name; …` or as a JSON object with the same names. docs/sandbox.md describes each.
 */
export interface SandboxFault {
  /** Names the call, for statistics and for counting attempts. */
  id?: string;
  /** The fault applies to the first so many calls of this `id`; later ones go well. */
  'fail-first'?: number;

  /** Answer with this HTTP status and an error body. */
  status?: number;
  /** Seconds, on an error answer. */
  'retry-after'?: number;
  /** Wait this long before the headers, in milliseconds. */
  stall?: number;
  /** Send this many frames (with `stall-mid` or `cut`, `error-after`, `malformed`: the place). */
  'stall-mid'?: number;
  'stall-after'?: number;
  'cut-after'?: number;
  cut?: 'reset' | 'close' | 'end';
  'error-first'?: boolean;
  'error-after'?: number;
  'malformed-after'?: number;
  drip?: number;
  ping?: boolean;
  eol?: 'lf' | 'cr' | 'crlf';
  multiline?: boolean;
  gzip?: boolean;
  'huge-frame'?: number;
  'content-type'?: string;
  'no-done'?: boolean;
  'no-finish'?: boolean;
  usage?: 'none' | 'zero';
  cached?: number;
  joules?: number;
  'joules-in'?: 'header' | 'usage' | 'both';
  /** Tokens per second of this call, in place of the process's. */
  pace?: number;
  /** The exact text of the answer. */
  say?: string;
  /** Ignore `n`. */
  'single-choice'?: boolean;
  /** Return floats where base64 was asked. */
  'float-embeddings'?: boolean;
}

type Reader = (value: unknown, name: string) => unknown;

/** The fault that was asked for does not exist: a typing error must not be a silent success. */
function badFault(message: string): BadRequest {
  return new BadRequest(message, 'sandbox_fault');
}

const number =
  (low: number, high: number): Reader =>
  (value, name) => {
    const read = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof read === 'number' && read >= low && read <= high) return read;
    throw badFault(`${name} must be a number from ${low} to ${high}`);
  };

const flag: Reader = (value, name) => {
  if (value === true || value === 'true' || value === '') return true;
  if (value === false || value === 'false') return false;
  throw badFault(`${name} is a flag: leave its value away, or write true or false`);
};

const text =
  (charsMax: number): Reader =>
  (value, name) => {
    if (typeof value === 'string' && value.length <= charsMax) return value;
    throw badFault(`${name} must be a text of at most ${charsMax} characters`);
  };

const oneOf =
  (...choices: string[]): Reader =>
  (value, name) => {
    if (typeof value === 'string' && choices.includes(value)) return value;
    throw badFault(`${name} must be one of ${choices.join(', ')}`);
  };

/** Ten minutes: longer than any time-out under test. */
const MS_MAX = 600_000;
const FRAMES_MAX = 1_000_000;
const frames = number(0, FRAMES_MAX);

const READERS: Readonly<Record<keyof SandboxFault, Reader>> = {
  id: text(200),
  'fail-first': number(0, 1_000_000),
  status: number(400, 599),
  'retry-after': number(0, 86_400),
  stall: number(0, MS_MAX),
  'stall-mid': number(0, MS_MAX),
  'stall-after': frames,
  'cut-after': frames,
  cut: oneOf('reset', 'close', 'end'),
  'error-first': flag,
  'error-after': frames,
  'malformed-after': frames,
  drip: number(1, 65_536),
  ping: flag,
  eol: oneOf('lf', 'cr', 'crlf'),
  multiline: flag,
  gzip: flag,
  'huge-frame': number(1, 64 * 1024 * 1024),
  'content-type': text(200),
  'no-done': flag,
  'no-finish': flag,
  usage: oneOf('none', 'zero'),
  cached: number(0, 10_000_000),
  joules: number(0, 1e12),
  'joules-in': oneOf('header', 'usage', 'both'),
  pace: number(0, 100_000),
  say: text(1_000_000),
  'single-choice': flag,
  'float-embeddings': flag,
};

function entriesOf(source: string): [string, unknown][] {
  if (source.trimStart().startsWith('{')) {
    try {
      return Object.entries(JSON.parse(source) as Record<string, unknown>);
    } catch {
      throw badFault('the fault looks like JSON, but is not');
    }
  }
  return source
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=');
      return equals < 0
        ? [part, '']
        : [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
    });
}

/** Reads a fault from a header's text, or from a body field (text or object). @throws BadRequest */
export function parseFault(source: unknown): SandboxFault {
  if (source === undefined || source === null || source === '') return {};
  let entries: [string, unknown][];
  if (typeof source === 'string') entries = entriesOf(source);
  else if (typeof source === 'object' && !Array.isArray(source)) entries = Object.entries(source);
  else throw badFault('a fault is a text or an object');
  const fault: Record<string, unknown> = {};
  for (const [name, value] of entries) {
    if (!Object.hasOwn(READERS, name)) throw badFault(`there is no fault named ${name}`);
    fault[name] = READERS[name as keyof SandboxFault](value, name);
  }
  if (fault['fail-first'] !== undefined && fault['id'] === undefined) {
    throw badFault('fail-first counts the calls of an id: name one');
  }
  return fault;
}

/** Parts that describe the call and not its failure: they hold for every attempt. */
const STANDING = ['id', 'pace', 'say', 'usage', 'cached', 'joules', 'joules-in'] as const;

/** The fault of the `attempt`-th call (from 1) of its id: after `fail-first` calls only what is not a failure. */
export function faultOfAttempt(fault: SandboxFault, attempt: number): SandboxFault {
  const failing = fault['fail-first'];
  if (failing === undefined || attempt <= failing) return fault;
  return Object.fromEntries(
    STANDING.filter((name) => fault[name] !== undefined).map((name) => [name, fault[name]]),
  );
}
