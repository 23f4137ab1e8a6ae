import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { apt, canInstall } from '../../dev/stores/redis-binary.ts';

/** Vitest's global set-up of the pack tests: they run the Python script that goes into every pack. */
export default async function ensurePython(): Promise<void> {
  if (await works()) return;
  if (!(await canInstall())) {
    throw new Error(
      'Python 3 with its package cryptography is missing: install it (Debian, Ubuntu: apt-get install python3-cryptography)',
    );
  }
  process.stderr.write('Installing the package python3-cryptography with apt-get\n');
  await apt(['update', '-q']);
  await apt(['install', '-q', '-y', '--no-install-recommends', 'python3-cryptography']);
  if (!(await works()))
    throw new Error('python3-cryptography is installed, and cannot be imported');
}

async function works(): Promise<boolean> {
  const program = 'from cryptography.hazmat.primitives.asymmetric import ed25519';
  return promisify(execFile)('python3', ['-c', program]).then(
    () => true,
    () => false,
  );
}
