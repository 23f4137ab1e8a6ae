import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** `npm run bench` lists the benchmarks, `npm run bench <name> [arguments]` runs one. */
const [name, ...rest] = process.argv.slice(2);
const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== 'main.ts')
  .map((file) => file.slice(0, -3));

if (name === undefined || !names.includes(name)) {
  process.stdout.write(`Benchmarks: ${names.join(', ')}\nRun one with: npm run bench <name>\n`);
  process.exitCode = name === undefined ? 0 : 2;
} else {
  const { status } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, `${name}.ts`), ...rest],
    {
      stdio: 'inherit',
    },
  );
  process.exitCode = status ?? 1;
}
