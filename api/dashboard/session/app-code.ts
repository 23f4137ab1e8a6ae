import { createHmac } from 'node:crypto';

/** How long an app shows one code. */
const STEP_MS = 30_000;
/** The library takes a code of one step before and after now; the clock may have ticked since. */
const STEPS_AROUND = 2;

/**
 * The time step of a code that was right just now (RFC 6238 with its defaults); undefined when it is of no step around now. If
 * two have the same code it is the later one.
 */
export function stepOfCode(secret: string, code: string, now: number): number | undefined {
  const current = Math.floor(now / STEP_MS);
  for (let step = current + STEPS_AROUND; step >= current - STEPS_AROUND; step -= 1) {
    if (codeOfStep(secret, step) === code) return step;
  }
  return undefined;
}

function codeOfStep(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const number = mac.readUInt32BE(mac.at(-1)! & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}
