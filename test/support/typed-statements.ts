import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');

/** A statement of the product with the row type that its code expects: `query<Row>('select …')`. */
export interface TypedStatement {
  file: string;
  /** `file:line` */
  place: string;
  /** The SQL as it may come out: one text for each choice that the code can make. */
  texts: readonly string[];
  /** Why the SQL cannot be told from the source, where it cannot. */
  problem: string | null;
  columns: readonly ExpectedColumn[];
}

interface ExpectedColumn {
  name: string;
  /** `string`, `number`, `boolean`, `Date`, `Buffer`, one of these with `[]`, or `other`. */
  type: string;
  nullable: boolean;
}

/**
 * Every SQL statement in the product's source that states the type of its rows: calls of `query<Row>` of the
 * driver, and templates `sql<Row>` of kysely that are executed as a whole.
 */
export function findTypedStatements(): TypedStatement[] {
  const files = globSync('{api,cli,embedded,migrations,shared,workers}/**/*.ts', { cwd: ROOT })
    .map((file) => join(ROOT, file))
    .filter((file) => /\b(query|sql)</.test(readFileSync(file, 'utf8')));
  const config = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, ROOT);
  const program = ts.createProgram(files, options);
  const reader = new SourceReader(program.getTypeChecker());
  return files.flatMap((file) => reader.statementsIn(program.getSourceFile(file)!));
}

class SourceReader {
  readonly #checker: ts.TypeChecker;

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  statementsIn(source: ts.SourceFile): TypedStatement[] {
    const file = relative(ROOT, source.fileName);
    return nodesOf(source).flatMap((node) => {
      const call = callOf(node);
      if (call === null) return [];
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      const columns = this.#columnsOf(call.row);
      return [{ file, place: `${file}:${line + 1}`, columns, ...this.#read(call) }];
    });
  }

  #read({ sql, isTemplate }: StatementCall): Pick<TypedStatement, 'texts' | 'problem'> {
    try {
      return { texts: isTemplate ? this.#templateTexts(sql) : this.#textsOf(sql), problem: null };
    } catch (error) {
      return { texts: [], problem: (error as Error).message };
    }
  }

  #columnsOf(row: ts.TypeNode): ExpectedColumn[] {
    const properties = this.#checker.getPropertiesOfType(
      this.#checker.getApparentType(this.#checker.getTypeFromTypeNode(row)),
    );
    return properties.map((property) => {
      const type = this.#checker.getTypeOfSymbolAtLocation(property, row);
      const nullish = ts.TypeFlags.Null | ts.TypeFlags.Unknown;
      return {
        name: property.name,
        type: this.#typeName(this.#checker.getNonNullableType(type)),
        nullable: partsOf(type).some(({ flags }) => (flags & nullish) !== 0),
      };
    });
  }

  #typeName(type: ts.Type): string {
    const every = (flag: ts.TypeFlags): boolean =>
      partsOf(type).every(({ flags }) => (flags & flag) !== 0);
    if (every(ts.TypeFlags.StringLike)) return 'string';
    if (every(ts.TypeFlags.NumberLike)) return 'number';
    if (every(ts.TypeFlags.BooleanLike)) return 'boolean';
    if (this.#checker.isArrayType(type)) {
      const element = this.#checker.getTypeArguments(type as ts.TypeReference)[0]!;
      return `${this.#typeName(element)}[]`;
    }
    const name = type.getSymbol()?.name;
    if (name === 'Date') return 'Date';
    return name === 'Buffer' || name === 'Uint8Array' ? 'Buffer' : 'other';
  }

  /** Every text that an expression of constants, choices, and functions that only return such can be. */
  #textsOf(node: ts.Expression): string[] {
    if (ts.isStringLiteralLike(node)) return [node.text];
    if (ts.isTemplateExpression(node)) return joined(node, (part) => this.#textsOf(part));
    if (ts.isParenthesizedExpression(node)) return this.#textsOf(node.expression);
    if (ts.isConditionalExpression(node)) {
      return [...this.#textsOf(node.whenTrue), ...this.#textsOf(node.whenFalse)];
    }
    const literals = partsOf(this.#checker.getTypeAtLocation(node)).flatMap((part) =>
      part.isStringLiteral() || part.isNumberLiteral() ? [String(part.value)] : [],
    );
    if (literals.length > 0) return literals;
    const sources = this.#sourcesOf(node);
    if (sources.length === 0) throw new Error(`"${node.getText()}" is not a constant`);
    return sources.flatMap((source) => this.#textsOf(source));
  }

  /** The text that kysely makes of a template: fragments become part of it, everything else a parameter. */
  #templateTexts(node: ts.Expression): string[] {
    if (ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
    if (!ts.isTemplateExpression(node)) throw new Error(`"${node.getText()}" is not a template`);
    let parameter = 0;
    return joined(node, (part) => {
      const [source = part] = this.#sourcesOf(part);
      if (ts.isTaggedTemplateExpression(source) && source.tag.getText() === 'sql') {
        return this.#templateTexts(source.template);
      }
      if (this.#checker.getTypeAtLocation(part).getProperty('toOperationNode') !== undefined) {
        throw new Error(`"${part.getText()}" is not a template that can be read here`);
      }
      parameter += 1;
      return [`$${parameter}`];
    });
  }

  /** The expressions that a name or call can stand for. */
  #sourcesOf(node: ts.Expression): ts.Expression[] {
    if (ts.isCallExpression(node)) {
      return this.#declarationsOf(node.expression).flatMap((declaration) =>
        ts.isFunctionDeclaration(declaration) ? returnsOf(declaration) : [],
      );
    }
    return this.#declarationsOf(node).flatMap((declaration) => {
      if (ts.isParameter(declaration)) return this.#argumentsFor(declaration);
      if (ts.isBindingElement(declaration)) return this.#loopedOver(declaration);
      return ts.isVariableDeclaration(declaration) ? (declaration.initializer ?? []) : [];
    });
  }

  #declarationsOf(name: ts.Expression): readonly ts.Declaration[] {
    let symbol = this.#checker.getSymbolAtLocation(name);
    if (symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0) {
      symbol = this.#checker.getAliasedSymbol(symbol);
    }
    return symbol?.declarations ?? [];
  }

  /** The arguments that calls in its file hand to a function's parameter. */
  #argumentsFor(parameter: ts.ParameterDeclaration): ts.Expression[] {
    const owner = parameter.parent;
    const index = owner.parameters.indexOf(parameter);
    return nodesOf(owner.getSourceFile()).flatMap((node) =>
      ts.isCallExpression(node) &&
      this.#declarationsOf(node.expression).includes(owner as ts.Declaration)
        ? (node.arguments[index] ?? [])
        : [],
    );
  }

  /** `const [a, b] of lists`: what stands at the element's place in each list that is written there. */
  #loopedOver(element: ts.BindingElement): ts.Expression[] {
    const pattern = element.parent;
    const loop = pattern.parent.parent.parent;
    if (!ts.isArrayBindingPattern(pattern) || !ts.isForOfStatement(loop)) return [];
    const index = pattern.elements.indexOf(element);
    return this.#sourcesOf(loop.expression).flatMap((lists) =>
      ts.isArrayLiteralExpression(lists)
        ? lists.elements.flatMap((list) =>
            ts.isArrayLiteralExpression(list) ? (list.elements[index] ?? []) : [],
          )
        : [],
    );
  }
}

interface StatementCall {
  row: ts.TypeNode;
  sql: ts.Expression;
  isTemplate: boolean;
}

function callOf(node: ts.Node): StatementCall | null {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return null;
  const { name, expression: target } = node.expression;
  if (name.text === 'query') {
    const [row] = node.typeArguments ?? [];
    const [first] = node.arguments;
    if (row === undefined || first === undefined) return null;
    return { row, sql: textProperty(first), isTemplate: false };
  }
  if (name.text !== 'execute' || !ts.isTaggedTemplateExpression(target)) return null;
  const [row] = target.typeArguments ?? [];
  return row === undefined ? null : { row, sql: target.template, isTemplate: true };
}

/** `{ name, text, values }`, as prepared statements are written. */
function textProperty(argument: ts.Expression): ts.Expression {
  if (!ts.isObjectLiteralExpression(argument)) return argument;
  const text = argument.properties.find((property) => property.name?.getText() === 'text');
  return text !== undefined && ts.isPropertyAssignment(text) ? text.initializer : argument;
}

function returnsOf(declaration: ts.FunctionDeclaration): ts.Expression[] {
  return nodesOf(declaration).flatMap((node) =>
    ts.isReturnStatement(node) ? (node.expression ?? []) : [],
  );
}

/** A template's texts: every combination of what its parts can be. */
function joined(node: ts.TemplateExpression, textsOf: (part: ts.Expression) => string[]): string[] {
  let texts = [node.head.text];
  for (const { expression, literal } of node.templateSpans) {
    const parts = textsOf(expression);
    texts = texts.flatMap((text) => parts.map((part) => text + part + literal.text));
  }
  return texts;
}

function partsOf(type: ts.Type): readonly ts.Type[] {
  return type.isUnion() ? type.types : [type];
}

function nodesOf(root: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(root);
  return nodes;
}
