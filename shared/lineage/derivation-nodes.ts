import { multihashOf } from '#shared/kernel/multihash.ts';
import type { Derivation, RecordView, Step, Warning } from '#shared/methodology/derivation.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import type { Source } from '#shared/methodology/factor-set.ts';
import { INPUT_TYPES } from '#shared/receipts/document.ts';
import type {
  BoundNode,
  FigureNode,
  InputNode,
  SourceNode,
  StepNode,
  WarningNode,
} from './document.ts';

/** A derivation as linked data: every number a node, linked to the numbers that it was computed from. */
export interface DerivationNodes {
  readonly constants: readonly FigureNode[];
  readonly used: readonly InputNode[];
  readonly steps: readonly StepNode[];
  readonly bounds: readonly BoundNode[];
  readonly warnings: readonly WarningNode[];
  readonly bibliography: readonly SourceNode[];
}

/**
 * @param lineage address of the document: inputs, steps and bounds are parts of it
 * @param plan address of the methodology: constants and sources are parts of that
 */
export function derivationNodes(
  derivation: Derivation,
  lineage: string,
  plan: string,
): DerivationNodes {
  const links = new Links(givers(derivation, lineage));
  const sources = new Bibliography(plan);
  const constants = derivation.constants.map((constant): FigureNode => {
    const { symbol, value, unit, meaning } = constant;
    const id = links.note(`${plan}#${symbol}`, symbol, value);
    return {
      id,
      type: ['QuantityValue', 'Constant'],
      symbol,
      name: meaning,
      value: toExactDecimalString(value),
      unit,
      sources: sources.cite(constant.sources),
    };
  });
  const used = derivation.inputs.map((view, i) =>
    inputNode(view, `${lineage}#input-${i}`, links, sources),
  );
  const bounds = derivation.bounds.map((bound): BoundNode => {
    const id = links.note(`${lineage}#bound-${bound.share}`, `f_${bound.share}`, bound.combined);
    return {
      id,
      type: 'Bound',
      share: bound.share,
      combined: toExactDecimalString(bound.combined),
      factors: bound.factors.map(({ id: name, factor, basis, sources: cited }) => ({
        name,
        value: toExactDecimalString(factor),
        basis,
        sources: cited.map((source) => `${plan}#${source}`),
      })),
    };
  });
  const steps = derivation.steps.map((step, i) => stepNode(step, `${lineage}#step-${i}`, links));
  const warnings = derivation.warnings.map(warningNode);
  return { constants, used, steps, bounds, warnings, bibliography: sources.all() };
}

function inputNode(view: RecordView, id: string, links: Links, sources: Bibliography): InputNode {
  return {
    id,
    type: ['Entity', INPUT_TYPES[view.kind]],
    name: view.id,
    digest: multihashOf(view.digest, `used.${view.id}`),
    record: view.record,
    carried: view.carried,
    figures: view.values.map(({ symbol, name, value, unit, year, sources: cited }) => ({
      id: links.note(`${id}-${symbol}`, symbol, value),
      type: ['QuantityValue'],
      symbol,
      name,
      value: toExactDecimalString(value),
      unit,
      year,
      sources: sources.cite(cited),
    })),
    warnings: view.warnings.map(warningNode),
  };
}

function stepNode(step: Step, id: string, links: Links): StepNode {
  const { symbol, name, formula, value, unit, inputs } = step;
  const wasDerivedFrom = inputs.flatMap((input) => links.find(input.symbol, input.value) ?? []);
  return {
    id: links.note(id, symbol, value),
    type: ['QuantityValue', 'Step'],
    symbol,
    name,
    formula,
    value: toExactDecimalString(value),
    unit,
    reads: inputs.map((input) => ({
      symbol: input.symbol,
      value: toExactDecimalString(input.value),
      unit: input.unit,
    })),
    wasDerivedFrom: [...new Set(wasDerivedFrom)],
  };
}

function warningNode({ code, message }: Warning): WarningNode {
  return { type: 'Warning', code, message };
}

/**
 * The record that gives a number which is no figure of it: how the model is served says bytes of a weight (by its
 * precision) and stated GPUs; a model whose layout of attention is not known, that attention is not counted.
 */
function givers({ inputs }: Derivation, lineage: string): ReadonlyMap<string, string> {
  const at = (found: (view: RecordView) => boolean): string =>
    `${lineage}#input-${inputs.findIndex(found)}`;
  const replica = at(({ kind, id }) => kind === 'hardware' && id === 'replica');
  return new Map([
    ['w', replica],
    ['n', replica],
    ['E_att', at(({ kind }) => kind === 'model')],
    ['E_kv', at(({ kind }) => kind === 'model')],
  ]);
}

/** Which node a symbol stands for, at this place of the computation. */
class Links {
  readonly #nodes = new Map<string, { id: string; value: number }[]>();
  readonly #givers: ReadonlyMap<string, string>;

  constructor(known: ReadonlyMap<string, string>) {
    this.#givers = known;
  }

  note(id: string, symbol: string, value: number): string {
    const known = this.#nodes.get(symbol) ?? [];
    this.#nodes.set(symbol, [...known, { id, value }]);
    return id;
  }

  /** The last node of this symbol with this value: an hourly factor and an annual one have one symbol. */
  find(symbol: string, value: number): string | undefined {
    const node = this.#nodes.get(symbol)?.findLast((each) => each.value === value);
    return node?.id ?? this.#givers.get(symbol);
  }
}

class Bibliography {
  readonly #plan: string;
  readonly #nodes = new Map<string, SourceNode>();

  constructor(plan: string) {
    this.#plan = plan;
  }

  cite(sources: readonly Source[]): string[] {
    return sources.map(({ id: name, citation, licence }) => {
      const id = `${this.#plan}#${name}`;
      this.#nodes.set(id, { id, type: 'CreativeWork', name, text: citation, license: licence });
      return id;
    });
  }

  all(): SourceNode[] {
    return [...this.#nodes.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }
}
