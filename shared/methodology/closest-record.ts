import type { FactorSet, ModelClassRecord } from './factor-set.ts';

/** What a factor set has that comes nearest to a model of which only the name is known. */
export interface ClosestRecord {
  /** Of a model record, or of a class of sizes. */
  ref: string;
  /** Why it is this one. */
  basis: 'record' | 'size-in-name' | 'size-unknown';
}

/** What is assumed of a name without a size, in billions of parameters: it only picks a class, whose bounds are wide. */
const ASSUMED_B = { embedding: 1, small: 30 };
const SMALL = /(^|[^a-z])(nano|mini|lite|flash|haiku|small|tiny|instant|fast)($|[^a-z])/;
/** What is added to a model's name and leaves its size as it is: dates, tunings, formats of weights. */
const ADDITION =
  /[-_:.@](\d{8}|\d{4}-\d\d-\d\d|00\d|latest|instruct|it|chat|preview|exp|versatile|instant|free|fp8|fp4|bf16|fp16|awq|gptq|gguf|q\d[a-z0-9_]*)$/;

/**
 * The record of the model that a provider calls so, with anything before and after its name; else the class of its size,
 * which the name may state; else the class that such models are usually of.
 * @param otherwiseB what is assumed where the name tells nothing, in billions of parameters
 */
export function closestRecord(
  name: string,
  { models, model_classes: classes }: FactorSet,
  { isEmbedding, otherwiseB }: { isEmbedding: boolean; otherwiseB: number },
): ClosestRecord {
  const names = models.flatMap(({ id, aliases }) =>
    [id, ...aliases].map((one) => [one, id] as const),
  );
  const known = new Map([
    ...names.flatMap(([one, id]) => formsOf(one).map((form) => [form, id] as const)),
    // A whole name goes before one that was made shorter.
    ...names.map(([one, id]) => [plain(one), id] as const),
  ]);
  const record = formsOf(name)
    .map((form) => known.get(form))
    .find((id) => id !== undefined);
  if (record !== undefined) return { ref: record, basis: 'record' };
  const stated = sizeIn(name);
  if (stated !== undefined) return { ref: classOf(stated, classes), basis: 'size-in-name' };
  const lower = name.toLowerCase();
  const assumed = isEmbedding
    ? ASSUMED_B.embedding
    : SMALL.test(lower)
      ? ASSUMED_B.small
      : otherwiseB;
  return { ref: classOf(assumed, classes), basis: 'size-unknown' };
}

/** The name without who publishes it, and shorter by one addition each time. */
function formsOf(name: string): string[] {
  let rest = name.toLowerCase().replace(/^.*\//, '');
  const forms = [plain(rest)];
  while (ADDITION.test(rest)) {
    rest = rest.replace(ADDITION, '');
    forms.push(plain(rest));
  }
  return forms;
}

/** Providers separate the parts of a name each in their own way: claude-sonnet-4.5, claude-sonnet-4-5. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** Parameters in billions, as names state them: 8b, 8x7b, 30b-a3b, 137m. */
function sizeIn(name: string): number | undefined {
  const found = /(?<![a-z0-9.])(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,3})?)([bm])(?![a-z0-9])/i.exec(
    name,
  );
  if (found === null) return undefined;
  const [, experts = '1', count = '', unit] = found;
  const size = Number(experts) * Number(count) * (unit!.toLowerCase() === 'm' ? 0.001 : 1);
  return size > 0 ? size : undefined;
}

function classOf(totalB: number, classes: readonly ModelClassRecord[]): string {
  const one = classes.find(
    ({ total_b_above: above, total_b_up_to: upTo = Infinity }) => totalB > above && totalB <= upTo,
  );
  return (one ?? classes.at(-1)!).id;
}
