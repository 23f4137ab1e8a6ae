import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { pages, ROOT, shellText } from './pages.ts';

const program = new Command('docket').version('0.0.0');

beforeAll(async () => {
  const folder = join(ROOT, 'cli/commands');
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.ts'))) {
    const file = (await import(join(folder, name))) as { register: (to: Command) => void };
    file.register(program);
  }
});

/** Why `docket <words>` would not work, or null. */
function objection(words: readonly string[]): string | null {
  let command = program;
  for (const word of words) {
    if (word.startsWith('--')) {
      const name = word.split('=')[0];
      if (name === '--help' || command.options.some(({ long }) => long === name)) continue;
      return `${command.name()} has no ${name}`;
    }
    // A group takes one of its commands; a command may take arguments of any kind.
    if (command.commands.length === 0) continue;
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) return `${command.name()} has no ${word}`;
    command = next;
  }
  return null;
}

describe('the pages', () => {
  it('the pages name commands and options that exist', () => {
    let commands = 0;
    const wrong = pages().flatMap((page) =>
      shellText(page)
        .flatMap((text) => [...text.matchAll(/(?:^|npx |[|(] ?)docket((?: [^\s`|)]+)+)/gm)])
        .map(([, rest = '']) => rest.replace(/ #.*$/, '').trim().split(' '))
        .flatMap((words) => {
          commands += 1;
          const why = objection(words.filter((word) => /^-{0,2}[a-z]/.test(word)));
          return why === null ? [] : [`${page.path}: docket ${words.join(' ')}: ${why}`];
        }),
    );
    expect(wrong).toEqual([]);
    expect(commands).toBeGreaterThan(20);
  });

  it('the pages name npm scripts that exist', async () => {
    const { default: manifest } = (await import(join(ROOT, 'package.json'), {
      with: { type: 'json' },
    })) as { default: { scripts: Record<string, string> } };
    const wrong = pages().flatMap((page) =>
      shellText(page)
        .flatMap((text) => [...text.matchAll(/npm (?:run )?([a-z:]+)/g)])
        .map(([, name = '']) => name)
        .filter((name) => !['ci', 'install', 'pack'].includes(name) && !(name in manifest.scripts))
        .map((name) => `${page.path}: npm run ${name}`),
    );
    expect(wrong).toEqual([]);
  });
});
