import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The instructions that go into every pack, with blanks (`{{pack}}`, `{{did}}`, `{{didUrl}}`, `{{log}}`) for its names. */
export function packInstructions(): string {
  return readFileSync(new URL('VERIFY.md', import.meta.url), 'utf8');
}

/** The verification script that goes into every pack: another language, other libraries, the same checks. */
export function packScript(): Buffer {
  return readFileSync(new URL('verify.py', import.meta.url));
}

/** SHA-256 (hex) of the script of this release. */
export function packScriptDigest(): string {
  return hash('sha256', packScript());
}
