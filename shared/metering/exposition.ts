/** One sample of Prometheus's text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Epoch milliseconds, where the server says when it was taken. */
  readonly at?: number;
}

/** Longer than any line of an exporter. */
const LINE_MAX = 65_536;

const SAMPLE =
  /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{((?:[^"\\}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]+([^ \t]+)(?:[ \t]+(-?\d+))?[ \t]*$/;
const LABEL = /\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/y;

/**
 * The samples of these names in the text of an exporter, or of a Prometheus server's `/federate`. Untrusted: lines of
 * another form, and values that are no numbers, are passed over.
 */
export function readExposition(text: string, names: ReadonlySet<string>): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    if (line.length > LINE_MAX || line.startsWith('#')) continue;
    const match = SAMPLE.exec(line.trimEnd());
    if (match === null || !names.has(match[1]!)) continue;
    const [, name = '', written = '', figure = '', at] = match;
    const labels = labelsOf(written);
    const value = Number(figure);
    if (labels === undefined || !Number.isFinite(value)) continue;
    samples.push({ name, labels, value, ...(at === undefined ? {} : { at: Number(at) }) });
  }
  return samples;
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' };

/** Undefined when they are not of the form. */
function labelsOf(text: string): Record<string, string> | undefined {
  const labels = Object.create(null) as Record<string, string>;
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const match = LABEL.exec(text);
    if (match === null) return undefined;
    labels[match[1]!] = match[2]!.replaceAll(
      /\\(.)/g,
      (all, letter: string) => ESCAPED[letter] ?? all,
    );
  }
  return labels;
}
