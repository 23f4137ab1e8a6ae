import { createHmac, timingSafeEqual } from 'node:crypto';

/** How long an app shows one code. */
const STEP_MS = 30_000;
/** One step before and after now: clocks differ, and a person types for a while. */
const STEPS_AROUND = 1;
/** Of an app; recovery codes are longer. */
const APP_CODE = /^\d{6}$/;

export const isAppCode = (code: string): boolean => APP_CODE.test(code);

/**
 * The time step of a code that is right now (RFC 6238 with its defaults); undefined when it is of no step around now. If two
 * have the same code it is the later one.
 */
export function stepOfCode(secret: Buffer, code: string, now: number): number | undefined {
  const current = Math.floor(now / STEP_MS);
  let found: number | undefined;
  for (let step = current - STEPS_AROUND; step <= current + STEPS_AROUND; step += 1) {
    if (timingSafeEqual(Buffer.from(codeOfStep(secret, step)), Buffer.from(code))) found = step;
  }
  return found;
}

function codeOfStep(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const number = mac.readUInt32BE(mac.at(-1)! & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

/** What an app reads from a QR code: whose secret it is, and at whom. */
export function appUri(secret: Buffer, email: string): string {
  const query = new URLSearchParams({ secret: base32(secret), issuer: 'Docket' }).toString();
  return `otpauth://totp/Docket:${encodeURIComponent(email)}?${query}&digits=6&period=30`;
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648, 6, of a multiple of five bytes, which needs no padding. */
export function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  return bits.replaceAll(/.{5}/g, (five) => LETTERS[Number.parseInt(five, 2)]!);
}
