import { createTransport } from 'nodemailer';
import type { Mailer } from '#shared/accounts/letters.ts';
import { mailServerOf } from '#shared/accounts/mail-server.ts';

/** A mail server that does not answer must not hold up the letters behind this one for long. */
const CONNECT_TIMEOUT_MS = 10_000;
const SILENCE_TIMEOUT_MS = 20_000;

/** Sends through a mail server: `smtp://user:password@host:port` or `smtps://…`, over TLS either way. */
export function createSmtpMailer(url: string, from: string): Mailer {
  const transport = createTransport({
    ...mailServerOf(url),
    pool: true,
    maxConnections: 2,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    // Letters are made of our own text and names; none may read a file or fetch an address.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, body }) {
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text: body });
    },
    async close() {
      transport.close();
    },
  };
}
