import { html, type Html } from '#api/html.ts';

// Of each language: comments (c), strings (s), words (w) and values (v). Names before a colon are read, and stay as they are.
const SHELL = /(?<c>(?<!\S)#.*)|(?<s>'[^']*'|"(?:\\.|[^"\\])*")/g;
const C_LIKE =
  /(?<c>\/\/.*|\/\*[^]*?\*\/)|"(?:\\.|[^"\\\n])*"(?=:)|(?<s>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(?<w>\b(?:as|async|await|break|case|catch|class|const|continue|default|defer|else|export|final|fn|for|from|func|function|if|import|interface|let|mut|new|of|package|private|public|return|static|struct|switch|throw|try|type|use|var|while)\b)|(?<v>\b(?:true|false|null|nil|undefined|\d[\d._]*)\b)/g;
const SCRIPT =
  /(?<c>#.*)|"(?:\\.|[^"\\\n])*"(?=:)|(?<s>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?<w>\b(?:and|as|async|await|def|elif|else|except|for|from|if|import|in|is|not|or|return|try|while|with)\b)|(?<v>\b(?:True|False|None|true|false|null|\d[\d._]*)\b)/g;

/** By the word after the fence, or the name of a sample's language. */
const LANGUAGES: Readonly<Record<string, RegExp>> = {
  sh: SHELL,
  curl: SHELL,
  yaml: SCRIPT,
  toml: SCRIPT,
  python: SCRIPT,
  js: C_LIKE,
  ts: C_LIKE,
  typescript: C_LIKE,
  json: C_LIKE,
  jsonc: C_LIKE,
  go: C_LIKE,
  java: C_LIKE,
  rust: C_LIKE,
};

/** Code with its parts told apart, and a button that copies it; without its script that is not shown. */
export function codeBlock(code: string, language = ''): Html {
  return html`<div class="code">
    <pre tabindex="0"><code>${coloured(code, LANGUAGES[language.toLowerCase()])}</code></pre>
    <button class="copy" type="button" data-copy hidden>Copy</button>
  </div>`;
}

function coloured(code: string, pattern: RegExp | undefined): Html[] {
  const parts: Html[] = [];
  let end = 0;
  for (const { 0: text, index, groups = {} } of pattern === undefined
    ? []
    : code.matchAll(pattern)) {
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined);
    if (kind === undefined) continue;
    parts.push(html`${code.slice(end, index)}<i class="${kind}">${text}</i>`);
    end = index + text.length;
  }
  return [...parts, html`${code.slice(end)}`];
}
