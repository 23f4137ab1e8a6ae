import { DecimalSum } from '#shared/kernel/decimal.ts';
import { printable } from '#shared/kernel/plain-text.ts';
import { sentinelTargetOf } from '#shared/kernel/redis-url.ts';

/**
 * Reads the text of an environment variable as it was set (empty only where the default is an empty list) and returns
 * the value, or throws an `Error` whose message completes "NAME …".
 */
export type Parser<T> = (text: string) => T;

/** A whole number from `min` to `max`, in plain decimal digits. */
export function integer(min: number, max: number): Parser<number> {
  return (text) => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return value;
  };
}

/** `90d`. */
export function days(min: number, max: number): Parser<number> {
  return (text) => {
    const value = /^\d{1,5}d$/.test(text) ? Number.parseInt(text, 10) : Number.NaN;
    if (!(value >= min && value <= max)) {
      throw new Error(`must be days, as 90d, from ${min}d to ${max}d`);
    }
    return value;
  };
}

/** `1` and `true`, `0` and `false`; anything else is a mistake, not a "no". */
export const flag: Parser<boolean> = (text) => {
  if (text === '1' || text === 'true') return true;
  if (text === '0' || text === 'false') return false;
  throw new Error('must be 1 or 0 (or true or false)');
};

/** One word of a closed list. */
export function oneOf<const T extends string>(words: readonly T[]): Parser<T> {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new Error(`must be one of ${words.join(', ')}`);
    return found;
  };
}

/** Any text of at most `lengthMax` characters. */
export function plainText(lengthMax: number): Parser<string> {
  return (text) => {
    if (text.length > lengthMax) throw new Error(`must have at most ${lengthMax} characters`);
    return text;
  };
}

/** A secret that cannot be guessed, if it was made at random. */
export function longSecret(lengthMin: number): Parser<string> {
  return (text) => {
    if (text.length < lengthMin) {
      throw new Error(`must have at least ${lengthMin} characters: openssl rand -hex 32`);
    }
    return plainText(512)(text);
  };
}

/** One URL, or several separated by commas (the nodes of a cluster). */
function urls(...schemes: string[]): Parser<string> {
  const one = url(...schemes);
  return (text) =>
    text
      .split(',')
      .map((part) => one(part.trim()))
      .join(',');
}

const REDIS_FORMS =
  'must be a URL that begins with redis:// or rediss://, or with redis+sentinel:// or rediss+sentinel://';

/** Of Redis: one server, nodes of a cluster separated by commas, or a server behind Sentinel. */
export const redisUrls: Parser<string> = (text) => {
  if (sentinelTargetOf(text.trim()) !== undefined) return text.trim();
  const isOther = text.split(',').some((part) => !/^rediss?:\/\//.test(part.trim()));
  if (isOther) throw new Error(REDIS_FORMS);
  return urls('redis', 'rediss')(text);
};

/**
 * A URL with one of the given schemes, returned without a trailing slash. The text itself is never
 * repeated in the message: it may hold a password.
 */
export function url(...schemes: string[]): Parser<string> {
  return (text) => {
    const scheme = URL.canParse(text) ? new URL(text).protocol.slice(0, -1) : '';
    if (!schemes.includes(scheme)) {
      throw new Error(
        `must be a URL that begins with ${schemes.map((s) => `${s}://`).join(' or ')}`,
      );
    }
    return text.replace(/\/+$/, '');
  };
}

/** A web address that identifiers are built on: nothing in it but scheme, host, port and path. */
export const publicAddress: Parser<string> = (text) => {
  const address = url('https', 'http')(text);
  const { username, password, search, hash } = new URL(address);
  if (username + password + search + hash !== '') {
    throw new Error('must have no user, password, query or fragment');
  }
  return address;
};

/**
 * What identifiers of receipts, and of their issuer as did:web, are made of: readers refuse a receipt under another host or
 * path (shared/receipts/addresses.ts).
 */
const OF_IDENTIFIERS =
  /^https?:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?(?:\/[A-Za-z0-9._~!$&'()*+,;=@%-]+)*$/;

/** The same of the service itself, which its receipts carry. */
export const publicUrl: Parser<string> = (text) => {
  const address = publicAddress(text);
  const { origin: beginning, pathname } = new URL(address);
  if (OF_IDENTIFIERS.test(beginning + pathname.replace(/\/$/, ''))) return address;
  throw new Error(
    'must have a host of letters, digits and . _ -, and no path with an empty part, a colon or a character that addresses lack',
  );
};

/** The beginning of a web address, as far as its port: `https://issuer.internal:8443`. */
export const origin: Parser<string> = (text) => {
  const address = publicAddress(text);
  if (new URL(address).origin !== address) throw new Error('must end with the host or port');
  return address;
};

/** An origin of pages as browsers send it, of any scheme: a page may be of a desktop program, as `app://obsidian.md`. */
export const pageOrigin: Parser<string> = (text) => {
  const isOrigin = /^[a-z][a-z\d+.-]*:\/\/[\w.~:[\]-]+$/.test(text) && URL.canParse(text);
  const isAsSent = isOrigin && (!/^https?:/.test(text) || new URL(text).origin === text);
  if (!isAsSent) {
    throw new Error(
      'must be an origin as browsers send it: scheme, host in lower case, and the port where it is not the usual one',
    );
  }
  return text;
};

/** Comma-separated items, each given to `item`; blanks around them are dropped. */
export function list<T>(item: Parser<T>, itemsMax: number): Parser<readonly T[]> {
  return (text) => {
    if (text === '') return Object.freeze([]);
    const parts = text.split(',').map((part) => part.trim());
    if (parts.includes('')) throw new Error('must be a comma-separated list without empty items');
    if (parts.length > itemsMax) throw new Error(`must have at most ${itemsMax} items`);
    return Object.freeze(parts.map((part) => item(part)));
  };
}

/** The same, with a word for the empty list: an empty variable counts as one that is not set. */
export function listOrNone<T>(item: Parser<T>, itemsMax: number): Parser<readonly T[]> {
  return (text) => (text === 'none' ? Object.freeze([]) : list(item, itemsMax)(text));
}

/** A share from 0 to 1, as a decimal. */
export const share: Parser<number> = (text) => {
  const value = /^\d{0,3}(\.\d{1,12})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= 0 && value <= 1)) throw new Error('must be a decimal from 0 to 1');
  return value;
};

/** More than any collector or backend is told. */
const PAIRS_MAX = 32;

/**
 * `name=value` pairs separated by commas, as OpenTelemetry writes them: values are percent-encoded. The text itself is never
 * repeated in the message: it may hold a credential.
 */
export const pairs: Parser<readonly (readonly [name: string, value: string])[]> = (text) =>
  list(nameAndValue, PAIRS_MAX)(text);

function nameAndValue(text: string): readonly [name: string, value: string] {
  const [, name = '', encoded = ''] = /^([^=\s]{1,255})\s*=\s*(.*)$/.exec(text) ?? [];
  const value = decoded(encoded);
  if (name === '' || value === undefined || !/^[\u0020-\u007e]*$/.test(name + value)) {
    throw new Error('must be made of name=value pairs, separated by commas, with encoded values');
  }
  return Object.freeze([name, value] as const);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The same as they stand, for a credential: its names are those of headers. */
export const headerPairs: Parser<string> = (text) => {
  const areHeaders = pairs(text).every(([name]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name));
  if (!areHeaders) throw new Error('must have names of HTTP headers before each =');
  return text;
};

/** A short name as regions and roles have it: lower-case letters, digits, hyphens. */
export const code: Parser<string> = (text) => {
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(text)) {
    throw new Error('must be made of lower-case letters, digits and hyphens');
  }
  return text;
};

/** `role=count` pairs such as `api=2,inference=4`. */
export function counts<const R extends string>(
  names: readonly R[],
  max: number,
): Parser<Readonly<Partial<Record<R, number>>>> {
  const count = integer(1, max);
  return (text) => {
    const found: Partial<Record<R, number>> = {};
    for (const pair of list(plainText(64), names.length)(text)) {
      const [name = '', number = ''] = pair.split('=');
      found[oneOf(names)(name)] = count(number);
    }
    return Object.freeze(found);
  };
}

/**
 * A C2SP verifier key and the address to submit to, with a space between; the key itself is read where it is used. Its name
 * is ASCII, because packs repeat it.
 */
export const witness: Parser<string> = (text) => {
  if (
    !/^[!-*,-~]{1,255}\+[0-9a-f]{8}\+(?:[A-Za-z0-9+/]{44}|[A-Za-z0-9+/]{1751}=) https?:\/\/\S{1,255}$/.test(
      text,
    )
  ) {
    throw new Error('must be made of "<verifier key> <submission prefix>"');
  }
  return text;
};

/** An e-mail address, checked only as far as a message header needs. */
export const emailAddress: Parser<string> = (text) => {
  if (!/^[^\s@<>,;]{1,64}@[^\s@<>,;]{1,255}$/.test(text))
    throw new Error('must be an e-mail address');
  return text;
};

/** A contract for the electricity of a region, as the operator declares it. */
export interface ElectricityContract {
  region: string;
  /** Greenhouse gas, a decimal. */
  kgCo2ePerKwh: string;
  /** What it is: `guarantees of origin 2026`. */
  name: string;
}

/** More regions than an operator has contracts for. */
const CONTRACTS_MAX = 256;
const CONTRACT = /^([a-z0-9][a-z0-9._-]{0,63})=((?:0|[1-9]\d{0,2})(?:\.\d{1,9})?) (\S.{0,199})$/;

/** `eu-west=0.012 wind farm, contract of 2026; eu-north=0 guarantees of origin`: one for each region at most. */
export const electricityContracts: Parser<readonly ElectricityContract[]> = (text) => {
  const parts = text.split(';').map((part) => part.trim());
  const contracts = parts.filter((part) => part !== '').map(contractIn);
  const regions = new Set(contracts.map(({ region }) => region));
  if (regions.size < contracts.length) throw new Error('must name each region once');
  if (contracts.length > CONTRACTS_MAX) throw new Error(`must name at most ${CONTRACTS_MAX}`);
  return Object.freeze(contracts);
};

function contractIn(part: string): ElectricityContract {
  const [, region, kgCo2ePerKwh, name] = CONTRACT.exec(part) ?? [];
  if (region === undefined || kgCo2ePerKwh === undefined || name === undefined) {
    throw new Error('must be made of <region>=<kg CO2e per kWh> <what it is>; …');
  }
  // Packs state it as far as it can be shown, and must have something to state.
  if (printable(name) === '') throw new Error(`must say in words that show what ${region} is of`);
  // A number has one spelling where it is signed.
  const sum = new DecimalSum();
  sum.add(kgCo2ePerKwh);
  return { region, kgCo2ePerKwh: String(sum), name };
}
