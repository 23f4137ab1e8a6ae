import { lexer, Lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { html, Html } from '#api/html.ts';
import { nextTurn } from '#shared/kernel/turns.ts';
import { codeBlock } from './code.ts';

/** A picture with its size, so that a page does not move when it has come. */
export interface Picture {
  address: string;
  width: number;
  height: number;
}

/** Where links and pictures of a page lead. */
export interface Linking {
  /** The address that a link leads to, and its text where that says where; undefined for one that is shown as its text alone. */
  link(href: string, text: string): { address: string; text?: string } | undefined;
  /** Undefined for a picture of which its description is shown. */
  picture(href: string): Picture | undefined;
}

/** Of texts that are on no page of their own: links to anchors, and to the network. */
const ANYWHERE: Linking = {
  link: (href) => (isOutside(href) || href.startsWith('#') ? { address: href } : undefined),
  picture: () => undefined,
};

export function isOutside(href: string): boolean {
  return /^(https?:\/\/|mailto:)/.test(href);
}

/**
 * Markdown as HTML: of what the library reads, the elements below are written and nothing else, with every text escaped. HTML
 * in the source is shown as text; comments and line breaks alone are taken for what they are.
 */
export function markdown(source: string): Html {
  return drawn(source, ANYWHERE, headingsOf(source).values());
}

/** A long page, a section in a turn: requests are answered meanwhile. */
export async function markdownInTurns(
  source: string,
  linking: Linking,
  headings: readonly Heading[],
): Promise<Html> {
  const starts = [
    0,
    ...headings.filter(({ depth, at }) => depth === 2 && at > 0).map(({ at }) => at),
  ];
  const next = headings.values();
  const sections: Html[] = [];
  for (const [i, start] of starts.entries()) {
    await nextTurn();
    sections.push(drawn(source.slice(start, starts[i + 1]), linking, next));
  }
  return html`${sections}`;
}

/** @param headings those of the text, in their order */
function drawn(source: string, linking: Linking, headings: Iterator<Heading, unknown>): Html {
  return html`${lexer(source).map((token) => block(token))}`;

  function block(any: Token): Html {
    const token = any as MarkedToken;
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- What is not in the list is shown as its source.
    switch (token.type) {
      case 'heading':
        return heading(token);
      case 'paragraph':
        return html`<p>${spans(token.tokens, linking)}</p>`;
      // Of a list whose items are no paragraphs.
      case 'text':
        return html`${token.tokens === undefined ? plain(token.text) : spans(token.tokens, linking)}`;
      case 'code':
        return codeBlock(token.text, token.lang);
      case 'table':
        return table(token);
      case 'list': {
        const items = token.items.map((item) => html`<li>${item.tokens.map(block)}</li>`);
        if (!token.ordered)
          return html`<ul>
            ${items}
          </ul>`;
        return html`<ol start="${Number(token.start)}">
          ${items}
        </ol>`;
      }
      case 'blockquote':
        return html`<blockquote>${token.tokens.map(block)}</blockquote>`;
      case 'hr':
        return html`<hr />`;
      case 'html':
        return raw(token.text);
      case 'space':
      case 'def':
        return html``;
      default:
        return html`${token.raw}`;
    }
  }

  function heading(token: Tokens.Heading): Html {
    const { value } = headings.next();
    const { id, title } = value as Heading;
    const tag = new Html(`h${token.depth}`);
    return html`<${tag} id="${id}">${spans(token.tokens, linking)}${
      token.depth === 1
        ? undefined
        : html` <a class="anchor" href="#${id}" aria-label="Link to “${title}”">#</a>`
    }</${tag}>`;
  }

  function table({ header, rows }: Tokens.Table): Html {
    const cells = (row: readonly Tokens.TableCell[], name: 'td' | 'th'): Html => {
      const tag = new Html(name);
      return html`<tr>
        ${row.map(({ tokens: inside, align }) => {
          const isNumber = align === 'right' ? html` class="num"` : undefined;
          return html`<${tag}${isNumber}>${spans(inside, linking)}</${tag}>`;
        })}
      </tr>`;
    };
    return html`<div class="scroll" tabindex="0">
      <table>
        <thead>
          ${cells(header, 'th')}
        </thead>
        <tbody>
          ${rows.map((row) => cells(row, 'td'))}
        </tbody>
      </table>
    </div>`;
  }
}

/** A text of one line, in Markdown. */
export function inline(text: string): Html {
  return html`${spans(Lexer.lexInline(text), ANYWHERE)}`;
}

function spans(tokens: readonly Token[], linking: Linking): Html[] {
  return tokens.map((any) => {
    const token = any as MarkedToken;
    const inside = (): Html[] => spans((token as Tokens.Strong).tokens, linking);
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- What is not in the list is shown as its source.
    switch (token.type) {
      case 'strong':
        return html`<strong>${inside()}</strong>`;
      case 'em':
        return html`<em>${inside()}</em>`;
      case 'del':
        return html`<del>${inside()}</del>`;
      case 'codespan':
        return html`<code>${token.text}</code>`;
      case 'br':
        return html`<br />`;
      case 'link': {
        const to = linking.link(token.href, token.text);
        if (to === undefined) return html`${inside()}`;
        return html`<a href="${to.address}">${to.text ?? inside()}</a>`;
      }
      case 'image': {
        const shown = linking.picture(token.href);
        return shown === undefined
          ? html`<em>${token.text}</em>`
          : html`<img
              src="${shown.address}"
              alt="${token.text}"
              width="${shown.width}"
              height="${shown.height}"
            />`;
      }
      case 'html':
        return raw(token.text);
      case 'text':
      case 'escape':
        return plain(token.text);
      default:
        return html`${token.raw}`;
    }
  });
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };

function plain(text: string): Html {
  return html`${text.replaceAll(/&(lt|gt|amp|quot);/g, (_, name: string) => ENTITIES[name]!)}`;
}

function raw(text: string): Html {
  if (/^\s*<!--(?:[^-]|-(?!->))*-->\s*$/.test(text)) return html``;
  return /^<br ?\/?>$/.test(text) ? html`<br />` : html`${text}`;
}

/** A heading of a page, with its anchor, and where it begins in the source. */
export interface Heading {
  depth: number;
  title: string;
  id: string;
  at: number;
}

/** Fenced code, where no heading is; or a heading. */
const FENCE_OR_HEADING = /^ *```[^]*?^ *```|^(#{1,6}) (.+)$/gm;

/** With anchors as GitHub makes them: lower case, punctuation gone, blanks to hyphens, repeats numbered. */
export function headingsOf(source: string): Heading[] {
  const taken = new Set<string>();
  return [...source.matchAll(FENCE_OR_HEADING)]
    .filter(([, marks]) => marks !== undefined)
    .map(({ 1: marks = '', 2: text = '', index: at }) => {
      const title = unmarked(text).trim();
      const slug = title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-');
      let id = slug;
      for (let n = 1; taken.has(id); n += 1) id = `${slug}-${n}`;
      taken.add(id);
      return { depth: marks.length, title, id, at };
    });
}

/** A text of one line without its marks. */
export function unmarked(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)|[`*]/g, '$1');
}

/** The sections of a description, for the navigation and the search. */
export function sectionsOf(source: string): { title: string; id: string; text: string }[] {
  const headings = headingsOf(source).filter(({ depth }) => depth === 2);
  return headings.map(({ title, id, at }, i) => ({
    title,
    id,
    text: source.slice(source.indexOf('\n', at), headings[i + 1]?.at),
  }));
}
