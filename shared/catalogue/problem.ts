/** One thing that is wrong with a catalogue file. */
export interface CatalogueProblem {
  /** Counted from 1. */
  line: number;
  /** `models[0].endpints`; empty when the file as a whole is meant. */
  path: string;
  message: string;
}

/** A step into the file: member names and indexes. */
export type Path = readonly (string | number)[];

/** A catalogue that cannot be used, with everything that is wrong with it, so that it is mended in one go. */
export class CatalogueError extends Error {
  readonly file: string;
  readonly problems: readonly CatalogueProblem[];

  constructor(file: string, problems: readonly CatalogueProblem[]) {
    super(problems.map((problem) => describeProblem(file, problem)).join('\n'));
    this.name = 'CatalogueError';
    this.file = file;
    this.problems = problems;
  }
}

/** `catalogue.yaml:14: models[0].endpints: unknown field` */
export function describeProblem(file: string, { line, path, message }: CatalogueProblem): string {
  return `${file}:${line}: ${path === '' ? '' : `${path}: `}${message}`;
}

/** `models[0].endpoints[2].name` */
export function pathText(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}
