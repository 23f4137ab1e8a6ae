/** Words of PromQL that are neither metrics nor labels; functions are told by their parenthesis. */
const WORDS = new Set(
  'and or unless on ignoring by without group_left group_right offset bool'.split(' '),
);
const TEXT = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;

export interface Named {
  /** Each metric, with the labels by which it is selected. */
  metrics: { name: string; labels: string[] }[];
  /** The labels that aggregations and matchings name. */
  grouped: string[];
}

/** What an expression of PromQL names: enough to find a metric or a label that does not exist. */
export function namesIn(expression: string): Named {
  const bare = expression.replaceAll(TEXT, '""').replaceAll(/\[[^\]]*\]/g, '');
  const grouped: string[] = [];
  const ungrouped = bare.replaceAll(
    /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g,
    (_whole, list: string) => {
      grouped.push(...list.split(',').map((label) => label.trim()));
      return ' ';
    },
  );
  const metrics = [...ungrouped.matchAll(/([a-zA-Z_:][\w:]*)\s*(\(|\{([^}]*)\})?/g)].flatMap(
    ([, name = '', after = '', selection = '']) => {
      if (after === '(' || WORDS.has(name)) return [];
      const labels = [...selection.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!);
      return [{ name, labels }];
    },
  );
  return { metrics, grouped: grouped.filter((label) => label !== '') };
}
