import { SaxesParser } from 'saxes';

/** An element of a record, with what is in it. */
export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  text: string;
  children: XmlElement[];
}

/** A record is one listed party. The largest known has some hundred elements; a file with larger ones is none of ours. */
const RECORD_ELEMENTS_MAX = 20_000;
const DEPTH_MAX = 64;
const TEXT_LENGTH_MAX = 100_000;

/**
 * Reads an XML file from a stream and yields each record, an element with one of the given names, as
 * soon as it is complete; only one record is in memory at a time. The root element comes first,
 * without its children, because the lists keep their date in it. The parser is strict and knows no
 * entities but XML's own five, so nothing can be made to swell. Throws on anything not well-formed.
 */
export async function* readXmlRecords(
  chunks: AsyncIterable<string>,
  names: ReadonlySet<string>,
): AsyncGenerator<XmlElement> {
  const collector = new RecordCollector(names);
  for await (const chunk of chunks) {
    collector.write(chunk);
    yield* collector.take();
  }
  collector.close();
  yield* collector.take();
}

class RecordCollector {
  readonly #parser = new SaxesParser({ xmlns: false });
  readonly #names: ReadonlySet<string>;
  readonly #open: XmlElement[] = [];
  #complete: XmlElement[] = [];
  #depth = 0;
  #elements = 0;

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
    this.#parser.on('error', (error) => {
      throw error;
    });
    this.#parser.on('opentag', (tag) => this.#opened(localName(tag.name), tag.attributes));
    this.#parser.on('text', (text) => this.#wrote(text));
    this.#parser.on('cdata', (text) => this.#wrote(text));
    this.#parser.on('closetag', () => this.#closed());
  }

  write(chunk: string): void {
    this.#parser.write(chunk);
  }

  close(): void {
    this.#parser.close();
  }

  take(): XmlElement[] {
    const complete = this.#complete;
    this.#complete = [];
    return complete;
  }

  #opened(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new Error('the file is nested too deeply');
    const element: XmlElement = { name, attributes, text: '', children: [] };
    if (this.#depth === 1) this.#complete.push(element);
    const parent = this.#open.at(-1);
    if (parent === undefined) {
      if (!this.#names.has(name)) return;
      this.#elements = 0;
    } else {
      parent.children.push(element);
    }
    this.#elements += 1;
    if (this.#elements > RECORD_ELEMENTS_MAX) throw new Error(`a ${name} is too large`);
    this.#open.push(element);
  }

  #wrote(text: string): void {
    const element = this.#open.at(-1);
    if (element === undefined) return;
    if (element.text.length + text.length > TEXT_LENGTH_MAX) throw new Error('a text is too long');
    element.text += text;
  }

  #closed(): void {
    this.#depth -= 1;
    const element = this.#open.pop();
    if (element !== undefined && this.#open.length === 0) this.#complete.push(element);
  }
}

/** Namespaces differ between editions of the same list; the names within them do not. */
function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name);
}

/** The children `inner` of all children `outer`. */
export function grandchildrenOf(element: XmlElement, outer: string, inner: string): XmlElement[] {
  return childrenOf(element, outer).flatMap((child) => childrenOf(child, inner));
}

/** The trimmed text of the first child of this name, or '' when there is none. */
export function textOf(element: XmlElement, name: string): string {
  return childrenOf(element, name)[0]?.text.trim() ?? '';
}
