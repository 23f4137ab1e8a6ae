import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = join(import.meta.dirname, '../..');
/** Seconds that files took, as `node dev/durations.ts` found them; those of less than one are left out. */
const DURATIONS = JSON.parse(readFileSync(join(ROOT, 'test/durations.json'), 'utf8')) as Readonly<
  Record<string, number>
>;

/** What a file takes that is not listed. */
const SHORT_S = 0.3;

/**
 * Has half of the processes begin with the longest files of each project, so that none of them is alone at its end, and the
 * others with the shortest: long ones wait for processes that they start, and short ones take the cores meanwhile. The files of
 * a project stay together: a process takes on files of its own project alone. The project with the longest file is the first.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is Vitest's, and returns another array
    const sorted = await super.sort(files);
    const groupOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    const longest = sorted.toSorted((a, b) => secondsOf(b) - secondsOf(a));
    const projects = [...Map.groupBy(longest, ({ project }) => project.name).values()];
    return projects
      .toSorted(([a], [b]) => groupOf(a!) - groupOf(b!))
      .flatMap((ofProject) => fromBothEnds(ofProject));
  }
}

function secondsOf({ moduleId }: TestSpecification): number {
  return DURATIONS[relative(ROOT, moduleId)] ?? SHORT_S;
}

/** The order in which files begin when each process takes the next from its end of the list; from one where a few are most of all. */
function fromBothEnds(longest: readonly TestSpecification[]): TestSpecification[] {
  const left = [...longest];
  const processes = longest[0]!.project.config.maxWorkers;
  const ofEach = left.reduce((sum, file) => sum + secondsOf(file), 0) / processes;
  if (secondsOf(left[0]!) > ofEach / 2) return left;
  const freeAt = Array<number>(processes).fill(0);
  const order: TestSpecification[] = [];
  while (left.length > 0) {
    const at = freeAt.indexOf(Math.min(...freeAt));
    const next = at < processes / 2 ? left.shift()! : left.pop()!;
    freeAt[at]! += secondsOf(next);
    order.push(next);
  }
  return order;
}
