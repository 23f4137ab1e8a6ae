import { LetterRefused, type Mailer } from '#shared/accounts/letters.ts';
import { mailServerOf } from '#shared/accounts/mail-server.ts';

/** A mail server that does not answer must not hold up the e-mails behind this one for long. */
const CONNECT_TIMEOUT_MS = 10_000;
const SILENCE_TIMEOUT_MS = 20_000;

/** Sends through a mail server: `smtp://user:password@host:port` or `smtps://…`, over TLS either way. */
export function createSmtpMailer(url: string, from: string): Mailer {
  let transport: ReturnType<typeof openTransport> | undefined;
  const secrets = secretsOf(url);
  return {
    async send({ to, subject, body }) {
      transport ??= openTransport(url);
      try {
        const opened = await transport;
        await opened.sendMail({ from, to: { name: '', address: to }, subject, text: body });
      } catch (error) {
        throw failureOf(error as SmtpError, secrets);
      }
    },
    async close() {
      (await transport)?.close();
    },
  };
}

async function openTransport(url: string) {
  // Loading it takes a twentieth of the start of a process that may never send an e-mail.
  const { createTransport } = await import('nodemailer');
  return createTransport({
    ...mailServerOf(url),
    pool: true,
    maxConnections: 2,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    // E-mails are made of our own text and names; none may read a file or fetch an address.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** What nodemailer throws. */
type SmtpError = Error & { code?: string; responseCode?: number };

/** What nodemailer calls failures that are about one e-mail: its sender, its recipient, its text. */
const OF_THE_LETTER: ReadonlySet<string | undefined> = new Set(['EENVELOPE', 'EMESSAGE']);
/** RFC 5321, 4.2.1: the server is about to close, at any command. */
const CLOSING = 421;

/** The failure as it may be shown: a server may quote in its refusal what it was sent. */
function failureOf(error: SmtpError, secrets: readonly string[]): Error {
  const { code, responseCode } = error;
  const message = secrets.reduce(
    (text, secret) => text.replaceAll(secret, '[withheld]'),
    error.message,
  );
  return OF_THE_LETTER.has(code) && responseCode !== CLOSING
    ? new LetterRefused(message)
    : new Error(message);
}

/** The password as it is sent: plain, and in the forms of AUTH PLAIN and AUTH LOGIN (RFC 4616). */
function secretsOf(url: string): string[] {
  const [user, password] = [new URL(url).username, new URL(url).password].map(decodeURIComponent);
  if (password === undefined || password === '') return [];
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  return [encoded(`\0${user}\0${password}`), encoded(password), password];
}
