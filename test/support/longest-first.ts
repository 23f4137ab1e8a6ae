import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = join(import.meta.dirname, '../..');
/** Seconds that files took, as `node dev/durations.ts` found them; those of less than one are left out. */
const DURATIONS = JSON.parse(readFileSync(join(ROOT, 'test/durations.json'), 'utf8')) as Readonly<
  Record<string, number>
>;

/**
 * Begins with the longest files of each group, so that none of them is alone at its end; then as Vitest would. The files of
 * a project stay together: a process takes on files of its own project alone. The project with the longest file is the first.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is Vitest's, and returns another array
    const sorted = await super.sort(files);
    const groupOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    const secondsOf = ({ moduleId }: TestSpecification): number =>
      DURATIONS[relative(ROOT, moduleId)] ?? 0;
    const longest = sorted.toSorted((a, b) => secondsOf(b) - secondsOf(a));
    const projects = [...new Set(longest.map(({ project }) => project.name))];
    const projectOf = ({ project }: TestSpecification): number => projects.indexOf(project.name);
    return longest.toSorted((a, b) => groupOf(a) - groupOf(b) || projectOf(a) - projectOf(b));
  }
}
