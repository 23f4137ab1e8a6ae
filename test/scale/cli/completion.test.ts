import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { completionFor, type Shell, SHELLS } from '#cli/completion.ts';
import { wholeProgram } from '#cli/program.ts';

const program = await wholeProgram();

/** What a shell offers for the last of these words; undefined on a machine without the shell. */
function offeredBy(shell: Shell, ...words: string[]): string[] | undefined {
  const quoted = words.map((word) => `"${word}"`).join(' ');
  const script = completionFor(shell, program);
  const asked = {
    bash: `${script}
      COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _docket
      printf '%s\\n' "\${COMPREPLY[@]}"`,
    // Its own answer is drawn on a terminal: looked at is what it chooses from.
    zsh: `compdef() { }; _describe() { print -l -- "\${entries[@]%%:*}" }
      ${script}
      words=(${quoted}); CURRENT=${words.length}; _docket`,
    fish: `${script}\ncomplete -C ${quoted.replaceAll('" "', ' ')}`,
  };
  try {
    const told = execFileSync(shell, ['-c', asked[shell]], { encoding: 'utf8' });
    return told.split('\n').map((line) => line.split('\t')[0]!);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

it.each(SHELLS)('%s completes commands, options and choices where they may stand', (shell) => {
  const script = completionFor(shell, program);
  for (const command of program.commands) {
    for (const one of [command, ...command.commands]) expect(script).toContain(one.name());
  }
  const commands = offeredBy(shell, 'docket', 'keys', 'ro');
  if (commands === undefined) return;
  expect(commands).toEqual(expect.arrayContaining(['rotate', 'rotate-lane']));
  expect(commands).not.toContain('doctor');
  expect(offeredBy(shell, 'docket', 'keys-signing', 'rotate', '')).toContain('checkpoints');
  expect(offeredBy(shell, 'docket', 'keys', 'rotate-lane', '--')).toContain('--in');
  expect(offeredBy(shell, 'docket', 'ac')).toContain('accounts');
});
