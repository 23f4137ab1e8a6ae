import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mailer } from '#shared/accounts/letters.ts';

/** Writes each e-mail as an `.eml` file, for machines without a mail server. Any mail program opens them. */
export function createFileMailer(directory: string, from: string): Mailer {
  return {
    async send({ to, subject, body }) {
      // Loading it takes a twentieth of the start of a process that may never send an e-mail.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
      const { message } = await transport.sendMail({ from, to, subject, text: body });
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const name = `${new Date().toISOString().replaceAll(':', '')}-${randomUUID()}.eml`;
      const path = join(directory, name);
      // Renamed when complete, so that a program that watches the directory never sees half an e-mail.
      await writeFile(`${path}.part`, message as Buffer, { mode: 0o600 });
      await rename(`${path}.part`, path);
    },
    async close() {},
  };
}
