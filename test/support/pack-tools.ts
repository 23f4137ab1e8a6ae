import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { apt, canInstall } from '#embedded/stores/redis-binary.ts';

/** Programs that the tests of packs and signatures run besides Node: each with a call that succeeds where it is there, and its Debian package. */
const TOOLS: readonly (readonly [string, string[], string])[] = [
  [
    'python3',
    ['-c', 'from cryptography.hazmat.primitives.asymmetric import ed25519'],
    'python3-cryptography',
  ],
  ['openssl', ['version'], 'openssl'],
  ['sha256sum', ['--version'], 'coreutils'],
  ['ssh', ['-V'], 'openssh-client'],
];

/** Vitest's global set-up of the pack tests: installs what is missing where it may, says what to do where not. */
export default async function ensurePackTools(): Promise<void> {
  const missing = await missingPackages();
  if (missing.length === 0) return;
  if (!(await canInstall())) {
    const names = missing.join(' ');
    throw new Error(`Tools are missing: install them (Debian, Ubuntu: apt-get install ${names})`);
  }
  process.stderr.write(
    `Installing with apt-get what the tests of packs and signatures need: ${missing.join(' ')}\n`,
  );
  await apt(['update', '-q']);
  await apt(['install', '-q', '-y', '--no-install-recommends', ...missing]);
  const still = await missingPackages();
  if (still.length > 0) throw new Error(`${still.join(' ')}: installed, and does not run`);
}

async function missingPackages(): Promise<string[]> {
  const missing: string[] = [];
  for (const [program, args, name] of TOOLS) {
    const runs = await promisify(execFile)(program, args).then(
      () => true,
      () => false,
    );
    if (!runs) missing.push(name);
  }
  return missing;
}
