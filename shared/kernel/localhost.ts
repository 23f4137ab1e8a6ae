/** The name of this machine. A program that is given it tries either address, and on one of them another might answer. */
export const LOCALHOST = 'localhost';

/** The same address for a browser: passkeys need a name, and take no number. */
export const forBrowsers = (address: string): string =>
  address.replace('//127.0.0.1:', `//${LOCALHOST}:`);

/** The addresses that a server listens on; of several, those after the first where the machine has them. */
export function addressesOf(host: string): readonly [string, ...string[]] {
  return host === LOCALHOST ? ['127.0.0.1', '::1'] : [host];
}

/** Whether a server could not listen because the machine has no such address: some are without IPv6. */
export function isMissing(error: NodeJS.ErrnoException | undefined): boolean {
  return error?.code === 'EADDRNOTAVAIL' || error?.code === 'EAFNOSUPPORT';
}
