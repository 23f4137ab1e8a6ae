import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Client } from 'pg';
import { atFileEnd } from './file-end.ts';

/** What PgBouncer takes at the start of a connection as it is shipped. */
const TRACKED = ['client_encoding', 'datestyle', 'timezone', 'standard_conforming_strings'];
const ALLOWED: ReadonlySet<string> = new Set(['user', 'database', 'application_name', ...TRACKED]);
/** What would stay behind on a connection of the server, for the client that comes next. */
const LEFT_BEHIND =
  /\b(?:un)?listen\b|pg_(?:try_)?advisory_lock|(?:^|;)\s*set\s+(?!local)|\btemp(?:orary)?\s+table|\bprepare\b/i;
/** Of each login. More than one, so that a transaction can be given another than the one before. */
const SERVERS = 4;
const STARTUP = 196_608;
const NO_TLS = 'N';

interface ServerConnection {
  stream: Duplex;
  user: Visitor | undefined;
}

interface Visitor {
  socket: Socket;
  bytes: Buffer;
  login: string | undefined;
  /** Held until the transaction ends, or for good. */
  server: ServerConnection | undefined;
  last: ServerConnection | undefined;
  /** What comes before the next Sync is thrown away. */
  refused: boolean;
}

export interface PoolingProxy {
  /** Its URL with another login, which acts as the role of that name; the owner of the schema's without. */
  urlAs: (login?: string) => string;
  /** How many transactions began on another connection of the server than the one before of the same client. */
  moved: () => number;
}

/**
 * A pooler as bad as can be: each transaction of a client runs on another connection of the server than the one before, and
 * what asks for more than a transaction is refused: parameters at the start, names of statements, state of a session.
 * @param by `session`: each client keeps the connection that it was given first.
 */
export async function startPoolingProxy(
  url: string,
  by: 'transaction' | 'session' = 'transaction',
): Promise<PoolingProxy> {
  const servers = new Map<string, Promise<ServerConnection[]>>();
  const clients: Client[] = [];
  const waiting: (() => void)[] = [];
  const sockets = new Set<Socket>();
  let moved = 0;

  async function openServers(login: string): Promise<ServerConnection[]> {
    return Promise.all(
      Array.from({ length: SERVERS }, async () => {
        const own = login.startsWith('docket_') ? { options: `-c role=${login}` } : {};
        const client = new Client({ connectionString: url, ...own });
        client.on('error', () => {});
        await client.connect();
        clients.push(client);
        const stream = streamOf(client);
        stream.removeAllListeners('data');
        const server: ServerConnection = { stream, user: undefined };
        let bytes: Buffer = Buffer.alloc(0);
        stream.on('data', (chunk: Buffer) => {
          bytes = Buffer.concat([bytes, chunk]);
          for (let one = messageOf(bytes, 1); one !== undefined; one = messageOf(bytes, 1)) {
            bytes = bytes.subarray(one.length);
            server.user?.socket.write(one);
            // ReadyForQuery, outside of a transaction.
            if (one[0] === 0x5a && one[5] === 0x49 && by === 'transaction') release(server);
          }
        });
        return server;
      }),
    );
  }

  function release(server: ServerConnection): void {
    if (server.user !== undefined) server.user.server = undefined;
    server.user = undefined;
    for (const next of waiting.splice(0)) next();
  }

  async function attach(visitor: Visitor): Promise<ServerConnection> {
    const login = visitor.login!;
    if (!servers.has(login)) servers.set(login, openServers(login));
    const all = await servers.get(login)!;
    for (;;) {
      const idle = all.filter(({ user }) => user === undefined);
      const server = idle.find((one) => one !== visitor.last) ?? idle[0];
      if (server !== undefined) {
        if (visitor.last !== undefined && visitor.last !== server) moved += 1;
        server.user = visitor;
        visitor.server = server;
        visitor.last = server;
        return server;
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  }

  async function take(visitor: Visitor, one: Buffer): Promise<void> {
    const kind = String.fromCharCode(one[0]!);
    if (kind === 'X') return void visitor.socket.end();
    const why = refusalOf(kind, one);
    if (why !== undefined && !visitor.refused) {
      visitor.socket.write(errorOf('ERROR', '26000', why));
      visitor.refused = true;
    }
    if (visitor.refused) {
      if (kind !== 'S' && kind !== 'Q') return;
      visitor.refused = false;
      const status = visitor.server === undefined ? 'I' : 'E';
      return void visitor.socket.write(framed('Z', Buffer.from(status)));
    }
    (visitor.server ?? (await attach(visitor))).stream.write(one);
  }

  const listener = createServer((socket) => {
    const visitor: Visitor = {
      socket,
      bytes: Buffer.alloc(0),
      login: undefined,
      server: undefined,
      last: undefined,
      refused: false,
    };
    sockets.add(socket);
    let pumping = Promise.resolve();
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      // Its transaction, if one is open, is the next one's: nothing here leaves in the middle of one.
      if (visitor.server !== undefined) release(visitor.server);
    });
    socket.on('data', (chunk: Buffer) => {
      visitor.bytes = Buffer.concat([visitor.bytes, chunk]);
      pumping = pumping.then(() => pump(visitor));
    });
  });

  async function pump(visitor: Visitor): Promise<void> {
    for (;;) {
      const isStart = visitor.login === undefined;
      const one = messageOf(visitor.bytes, isStart ? 0 : 1);
      if (one === undefined) return;
      visitor.bytes = visitor.bytes.subarray(one.length);
      if (isStart) greet(visitor, one);
      else await take(visitor, one);
    }
  }

  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve);
  });
  atFileEnd(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
    for (const client of clients) streamOf(client).destroy();
  });
  const { port } = listener.address() as AddressInfo;
  return {
    moved: () => moved,
    urlAs: (login) => {
      const own = new URL(url);
      own.port = String(port);
      if (login !== undefined) own.username = login;
      return own.href;
    },
  };
}

/** The connection that the driver has opened, for what is sent as it is. */
function streamOf(client: Client): Duplex {
  return (Reflect.get(client, 'connection') as { stream: Duplex }).stream;
}

/** Answers the start of a connection, whose password is believed. */
function greet(visitor: Visitor, one: Buffer): void {
  const { socket } = visitor;
  if (one.readInt32BE(4) !== STARTUP) return void socket.write(NO_TLS);
  const words = one.toString('utf8', 8).split('\0');
  const given = new Map<string, string>();
  for (let at = 0; words[at] !== ''; at += 2) given.set(words[at]!, words[at + 1]!);
  const foreign = [...given.keys()].find((name) => !ALLOWED.has(name.toLowerCase()));
  if (foreign !== undefined) {
    const text = `unsupported startup parameter: ${foreign}`;
    return void socket.end(errorOf('FATAL', '08P01', text));
  }
  visitor.login = given.get('user')!;
  const key = Buffer.alloc(8);
  // No process of the server has such a number.
  key.writeInt32BE(2_000_000_000, 0);
  socket.write(framed('R', Buffer.alloc(4)));
  socket.write(framed('K', key));
  socket.write(framed('Z', Buffer.from('I')));
}

function refusalOf(kind: string, one: Buffer): string | undefined {
  if (kind !== 'P' && kind !== 'Q') return undefined;
  const [first = '', second = ''] = one.toString('utf8', 5).split('\0');
  if (kind === 'P' && first !== '') return `the statement ${first} has a name`;
  const text = kind === 'P' ? second : first;
  return LEFT_BEHIND.test(text) ? `state of a session: ${text}` : undefined;
}

/** The first whole message; `skip`: bytes before its length. */
function messageOf(bytes: Buffer, skip: number): Buffer | undefined {
  if (bytes.length < skip + 4) return undefined;
  const length = skip + bytes.readInt32BE(skip);
  return bytes.length < length ? undefined : bytes.subarray(0, length);
}

function framed(kind: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function errorOf(severity: string, code: string, text: string): Buffer {
  const fields = [`S${severity}`, `V${severity}`, `C${code}`, `M${text}`, '', ''].join('\0');
  return framed('E', Buffer.from(fields));
}
