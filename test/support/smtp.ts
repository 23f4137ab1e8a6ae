import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** What a mail server has taken. */
interface Taken {
  recipients: string[];
  /** Every letter as it came, one after the other. */
  data: string;
  /** Whether each came over TLS. */
  secure: boolean[];
  logins: string[];
}

interface SmtpOptions {
  /** Offers STARTTLS, with a certificate of an unknown authority. */
  tls?: boolean;
  /** Wants this login. */
  login?: { user: string; pass: string };
  /** Where to listen. */
  host?: string;
}

/** A mail server, as others run it (RFC 5321, STARTTLS, AUTH). `refusal` is what it says to letters while it is set. */
export async function startSmtpServer({
  tls = false,
  login,
  host = '127.0.0.1',
}: SmtpOptions = {}) {
  const seen: Taken & { refusal: string | undefined } = {
    recipients: [],
    data: '',
    secure: [],
    logins: [],
    refusal: undefined,
  };
  const server = new SMTPServer({
    authOptional: login === undefined,
    hideSTARTTLS: !tls,
    // What a client does wrong is refused to it, and not logged.
    logger: false,
    ...(login === undefined ? { disabledCommands: ['AUTH'] } : {}),
    onAuth({ username = '', password }, _session, done) {
      if (username !== login?.user || password !== login?.pass) return done(new Error('no'));
      seen.logins.push(username);
      return done(null, { user: username });
    },
    onData(stream, { envelope, secure }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (seen.refusal !== undefined) {
          return done(Object.assign(new Error(seen.refusal), { responseCode: 451 }));
        }
        seen.data += Buffer.concat(chunks).toString().replaceAll('\r\n', '\n');
        seen.recipients.push(...envelope.rcptTo.map(({ address }) => address));
        seen.secure.push(secure);
        return done();
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    seen,
    get recipients() {
      return seen.recipients;
    },
    get data() {
      return seen.data;
    },
    port,
    url: `smtp://${host}:${port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** The text of an e-mail as its reader sees it: RFC 2045, 6.7. */
export function decodeLetter(data: string): string {
  return data
    .replaceAll(/=\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
}
