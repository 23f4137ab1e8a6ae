/** Networks without an owner on the internet: private ones, this machine, link-local ones with what clouds keep there (RFC 6890). */
const INSIDE_4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/** All that is routed on the internet (RFC 4291), */
const ROUTED_6 = ['2000::/3'];
/** less what leads on to an IPv4 address, and examples. */
const INSIDE_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** Whether an address is one of the internet, and not of a network that only we can reach. What is no address is none. */
export function isPublicAddress(address: string): boolean {
  const four = numberOf4(address);
  if (four !== undefined) return !INSIDE_4.some((network) => isIn(four, 32, network, numberOf4));
  const six = numberOf6(address);
  if (six === undefined) return false;
  const isOf = (network: string): boolean => isIn(six, 128, network, numberOf6);
  return ROUTED_6.some(isOf) && !INSIDE_6.some(isOf);
}

/** Whether it is written as an address, and not as a name. */
export function isAddress(host: string): boolean {
  return numberOf4(host) !== undefined || numberOf6(host) !== undefined;
}

type Read = (address: string) => bigint | undefined;

function isIn(address: bigint, bits: number, network: string, read: Read): boolean {
  const [base = '', prefix] = network.split('/');
  const rest = BigInt(bits - Number(prefix));
  return address >> rest === read(base)! >> rest;
}

function numberOf4(address: string): bigint | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(address)) return undefined;
  const octets = address.split('.').map(Number);
  return octets.every((octet) => octet < 256) ? joined(octets, 8n) : undefined;
}

function numberOf6(address: string): bigint | undefined {
  if (!address.includes(':') || !URL.canParse(`http://[${address}]`)) return undefined;
  // In one form, as browsers write it: no dotted tail, at most one gap.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groupsOf = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [groupsOf(head), groupsOf(tail ?? '')];
  const gap = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return joined([...before, ...gap, ...after], 16n);
}

const joined = (parts: readonly number[], bits: bigint): bigint =>
  parts.reduce((number, part) => (number << bits) | BigInt(part), 0n);

/** An address that a stranger has named leads to where it must not. */
export class InsideAddress extends Error {
  constructor(host: string) {
    super(`${host} is no server of the internet`);
    this.name = 'InsideAddress';
  }
}

/** Fetches from addresses that others have named, and throws `InsideAddress` for what leads to our own network. */
export type PublicFetch = (url: string, init?: object) => Promise<Response>;
