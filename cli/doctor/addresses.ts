import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { PATIENCE } from '#patience';
import { mailServerOf } from '#shared/accounts/mail-server.ts';
import type { ToolConfig } from '#shared/config/config.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import { examineDirectory } from './machine.ts';

/** A person waits; a mail server that is there greets within a second. */
const MAIL_MS = 5_000 * PATIENCE;
/** Names and addresses that mean another machine to everyone who reads them. */
const LOOPBACK = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)$/;

/** Looks at the addresses that receipts, e-mails and refusals carry to others: wrong ones cannot be taken back. */
export function examineAddresses(
  { publicUrl, supportEmail }: Pick<ToolConfig, 'publicUrl' | 'supportEmail'>,
  embedded: boolean,
): Finding[] {
  return [examinePublicUrl(publicUrl, embedded), examineSupportEmail(supportEmail, embedded)];
}

function examinePublicUrl(publicUrl: string, embedded: boolean): Finding {
  const { hostname, protocol } = new URL(publicUrl);
  const fix =
    'set PUBLIC_URL to the https:// address that callers use; every receipt carries it for ever';
  if (embedded) return ok('PUBLIC_URL', `${publicUrl}, for one machine`);
  if (LOOPBACK.test(hostname)) {
    return problem('PUBLIC_URL', `${publicUrl} means another machine to everyone else`, fix);
  }
  return protocol === 'https:'
    ? ok('PUBLIC_URL', publicUrl)
    : warning('PUBLIC_URL', `${publicUrl} is not https`, fix);
}

function examineSupportEmail(supportEmail: string, embedded: boolean): Finding {
  const name = 'SUPPORT_EMAIL';
  if (embedded || !supportEmail.endsWith('@localhost')) return ok(name, supportEmail);
  const fix = 'set SUPPORT_EMAIL to an address that is read: refusals and e-mails name it';
  return problem(name, `${supportEmail} reaches nobody`, fix);
}

/** Looks whether letters can be sent, or kept: greets the mail server, with the login if there is one. */
export async function examineMail(
  { secrets, dataDir }: Pick<ToolConfig, 'secrets' | 'dataDir'>,
  embedded: boolean,
): Promise<Finding[]> {
  const name = 'SMTP';
  const { smtpUrl } = secrets;
  if (smtpUrl === undefined) {
    const detail = `SMTP_URL is not set: e-mails are files in ${dataDir}/mail`;
    if (embedded) return [ok(name, detail)];
    const folder = await examineDirectory('e-mails', join(dataDir, 'mail'));
    return [warning(name, detail, 'set SMTP_URL'), folder];
  }
  const times = { connectionTimeout: MAIL_MS, greetingTimeout: MAIL_MS, socketTimeout: MAIL_MS };
  const transport = createTransport({ ...mailServerOf(smtpUrl), ...times });
  try {
    await transport.verify();
    return [ok(name, `${new URL(smtpUrl).host} takes mail`)];
  } catch (error) {
    return [problem(name, `mail cannot be sent: ${reasonOf(error)}`, 'correct SMTP_URL')];
  } finally {
    transport.close();
  }
}
