/** A server of Redis behind Sentinel, as `redis+sentinel://user:password@host:port,host:port/name/db` names it. */
export interface SentinelTarget {
  /** Of the servers, as Sentinel knows them. */
  name: string;
  sentinels: readonly { host: string; port: number }[];
  /** To the servers and to the Sentinels. */
  isTls: boolean;
  username: string | undefined;
  password: string | undefined;
  sentinelUsername: string | undefined;
  sentinelPassword: string | undefined;
  db: number;
}

const SCHEME = /^rediss?\+sentinel:/i;
const PORT = 26_379;
const FORM =
  /^(?<scheme>rediss?)\+sentinel:\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]+)\/(?<name>[^/?#]+)(?:\/(?<db>\d{1,4}))?\/?(?:\?(?<query>[^#]*))?$/i;
const HOST = /^(?<host>\[[\da-f:.]+\]|[^:[\]]+)(?::(?<port>\d{1,5}))?$/i;
const QUERY: ReadonlySet<string> = new Set(['sentinel_username', 'sentinel_password']);

/**
 * Reads the address of a server behind Sentinel; undefined for any other address.
 * @throws Error when it is one, and not of its form; the text is not repeated, since it may hold a password
 */
export function sentinelTargetOf(url: string): SentinelTarget | undefined {
  if (!SCHEME.test(url)) return undefined;
  const target = targetOf(url);
  if (target === undefined) {
    throw new Error(
      'must be redis+sentinel://user:password@host:port,host:port/name, or rediss+sentinel://…; after the name may come /db and ?sentinel_username=…&sentinel_password=…',
    );
  }
  return target;
}

function targetOf(url: string): SentinelTarget | undefined {
  const { scheme, user, password, hosts, name, db, query } = FORM.exec(url)?.groups ?? {};
  if (hosts === undefined || name === undefined) return undefined;
  const sentinels = hosts.split(',').map((one) => addressOf(one.trim()));
  if (!sentinels.every((one) => one !== undefined)) return undefined;
  try {
    const more = new Map(query?.split('&').map(pairOf));
    if ([...more.keys()].some((key) => !QUERY.has(key))) return undefined;
    return {
      name: decodeURIComponent(name),
      sentinels,
      isTls: scheme!.toLowerCase() === 'rediss',
      username: decoded(user),
      password: decoded(password),
      sentinelUsername: more.get('sentinel_username'),
      sentinelPassword: more.get('sentinel_password'),
      db: Number(db ?? 0),
    };
  } catch {
    // An escape that stands for no character.
    return undefined;
  }
}

/** A plus is a plus here, as it is in front of the host. */
function pairOf(text: string): [name: string, value: string] {
  const [name = '', ...value] = text.split('=');
  return [name, decodeURIComponent(value.join('='))];
}

function decoded(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decodeURIComponent(text);
}

function addressOf(text: string): SentinelTarget['sentinels'][number] | undefined {
  const { host, port = PORT } = HOST.exec(text)?.groups ?? {};
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
