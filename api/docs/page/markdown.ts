import { escapeHtml, Html } from '#api/html.ts';

/**
 * The Markdown that our own descriptions are written in: paragraphs, `##` headings, tables, fenced code, `code`, **strong**
 * and [links](…). Not for text that comes from elsewhere.
 */
export function markdown(source: string): Html {
  const blocks = source.split(/\n{2,}(?![^`]*```\n)/);
  return new Html(joinFences(blocks).map(block).join('\n'));
}

/** A blank line within a fence does not end it. */
function joinFences(blocks: readonly string[]): string[] {
  const joined: string[] = [];
  let open = false;
  for (const one of blocks) {
    if (open) joined[joined.length - 1] += `\n\n${one}`;
    else joined.push(one);
    if ((one.match(/^```/gm)?.length ?? 0) % 2 === 1) open = !open;
  }
  return joined;
}

function block(text: string): string {
  const fence = /^```\w*\n([^]*?)\n?```$/.exec(text);
  if (fence !== null) return `<pre tabindex="0"><code>${escapeHtml(fence[1]!)}</code></pre>`;
  const heading = /^## (.*)$/.exec(text);
  if (heading !== null) return `<h2 id="${slug(heading[1]!)}">${inline(heading[1]!)}</h2>`;
  if (text.startsWith('|')) return table(text);
  return `<p>${inline(text)}</p>`;
}

function table(text: string): string {
  const [head = [], , ...rows] = text
    .trim()
    .split('\n')
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => inline(cell.trim())),
    );
  const row = (cells: readonly string[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  const body = rows.map((cells) => row(cells, 'td')).join('');
  return `<div class="scroll" tabindex="0"><table><thead>${row(head, 'th')}</thead><tbody>${body}</tbody></table></div>`;
}

/** Code first, because its content is not markup. */
export function inline(text: string): string {
  return text
    .split(/(`[^`]+`)/)
    .map((part) =>
      part.startsWith('`') && part.length > 2
        ? `<code>${escapeHtml(part.slice(1, -1))}</code>`
        : escapeHtml(part)
            .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
            .replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, '<a href="$2">$1</a>'),
    )
    .join('');
}

/** The sections of a description, for the navigation and the search. */
export function sectionsOf(source: string): { title: string; id: string; text: string }[] {
  return [...source.matchAll(/^## (.*)$([^]*?)(?=^## |(?![^]))/gm)].map(
    ([, title = '', text = '']) => ({ title, id: slug(title), text }),
  );
}

function slug(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
