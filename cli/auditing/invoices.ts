import { CsvError, parse } from 'csv-parse/sync';

/** Tokens that another party has billed or counted, of a day and a model. */
export interface BilledDay {
  /** `2026-11-23`, UTC. */
  day: string;
  model: string;
  inputTokens: number;
  outputTokens: number;
}

const COLUMNS = ['date', 'model', 'input_tokens', 'output_tokens'] as const;

/** The list is not what can be compared; the message names the line. */
export class WrongInvoices extends Error {
  constructor(problem: string, options?: ErrorOptions) {
    super(problem, options);
    this.name = 'WrongInvoices';
  }
}

/**
 * Reads `date,model,input_tokens,output_tokens` with a header line, in any order and with further columns, which are passed
 * over. Lines of one day and model are added up.
 * @throws WrongInvoices
 */
export function parseInvoices(text: string): BilledDay[] {
  const records = recordsIn(text);
  const missing = COLUMNS.find((name) => !(name in (records[0]?.record ?? {})));
  if (missing !== undefined) {
    throw new WrongInvoices(`there is no column ${missing}: it takes ${COLUMNS.join(',')}`);
  }
  const days = new Map<string, BilledDay>();
  for (const { record, line } of records) {
    const [day, model] = [dayIn(record['date'], line), modelIn(record['model'], line)];
    const key = `${day} ${model}`;
    const sum = days.get(key) ?? { day, model, inputTokens: 0, outputTokens: 0 };
    days.set(key, {
      ...sum,
      inputTokens: sum.inputTokens + tokensIn(record['input_tokens'], line, 'input_tokens'),
      outputTokens: sum.outputTokens + tokensIn(record['output_tokens'], line, 'output_tokens'),
    });
  }
  return [...days.values()];
}

function recordsIn(text: string): { record: Record<string, string>; line: number }[] {
  try {
    const found: { record: Record<string, string>; info: { lines: number } }[] = parse(text, {
      columns: true,
      bom: true,
      info: true,
      trim: true,
      skip_empty_lines: true,
    });
    return found.map(({ record, info }) => ({ record, line: info.lines }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new WrongInvoices(`it is not CSV (${error.message})`, { cause: error });
  }
}

function dayIn(text: string | undefined, line: number): string {
  const day = /^(\d{4}-\d{2}-\d{2})(?:T00:00:00(?:\.0+)?Z)?$/.exec(text ?? '')?.[1];
  const isDay = day !== undefined && new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day);
  if (isDay) return day;
  throw new WrongInvoices(`line ${line}: date is a day such as 2026-11-23, in UTC`);
}

function modelIn(text: string | undefined, line: number): string {
  if (text !== undefined && text !== '') return text;
  throw new WrongInvoices(`line ${line}: model is empty`);
}

function tokensIn(text: string | undefined, line: number, name: string): number {
  const tokens = Number(text);
  if (/^\d{1,15}$/.test(text ?? '')) return tokens;
  throw new WrongInvoices(`line ${line}: ${name} is a whole number without separators`);
}
