/** `npm run release -- 1.2.3`: see release.ts. */
import { join } from 'node:path';
import { release } from './release.ts';

const [, , version = ''] = process.argv;
const day = new Date().toISOString().slice(0, 10);
try {
  const lines = release(join(import.meta.dirname, '../..'), version, day);
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
