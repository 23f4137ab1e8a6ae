import type { ListedEntity, ListSource, PartyKind } from '../listed.ts';
import { childrenOf, grandchildrenOf, textOf, type XmlElement } from './xml-records.ts';

/** How one published XML format is read. */
export interface XmlListFormat {
  source: ListSource;
  /** Name of the root element: how the format is told from the others. */
  root: string;
  records: ReadonlySet<string>;
  entityOf: (record: XmlElement) => ListedEntity | null;
  publishedOn: (element: XmlElement) => string | null;
}

/** OFAC's Specially Designated Nationals list, `SDN.XML`. */
const OFAC_SDN: XmlListFormat = {
  source: 'ofac_sdn',
  root: 'sdnList',
  records: new Set(['sdnEntry', 'publshInformation']),
  publishedOn: (element) =>
    element.name === 'publshInformation' ? textOf(element, 'Publish_Date') || null : null,
  entityOf: (record) => {
    if (record.name !== 'sdnEntry') return null;
    const nameOf = (element: XmlElement): string =>
      joined(textOf(element, 'firstName'), textOf(element, 'lastName'));
    return {
      id: textOf(record, 'uid'),
      kind: kindOf(textOf(record, 'sdnType'), { Individual: 'person', Entity: 'organisation' }),
      names: [
        { name: nameOf(record), weak: false },
        ...grandchildrenOf(record, 'akaList', 'aka').map((aka) => ({
          name: nameOf(aka),
          weak: textOf(aka, 'category') === 'weak',
        })),
      ],
      programme: texts(grandchildrenOf(record, 'programList', 'program')).join(' '),
      countries: grandchildrenOf(record, 'addressList', 'address').map((address) =>
        textOf(address, 'country'),
      ),
    };
  },
};

/** The EU's consolidated list of financial sanctions, XML 1.1. */
const EU: XmlListFormat = {
  source: 'eu',
  root: 'export',
  records: new Set(['sanctionEntity']),
  publishedOn: (element) =>
    element.name === 'export' ? (element.attributes['generationDate'] ?? null) : null,
  entityOf: (record) => {
    if (record.name !== 'sanctionEntity') return null;
    const type = childrenOf(record, 'subjectType')[0]?.attributes['code'] ?? '';
    return {
      id: record.attributes['euReferenceNumber'] || (record.attributes['logicalId'] ?? ''),
      kind: kindOf(type, { person: 'person', enterprise: 'organisation' }),
      names: childrenOf(record, 'nameAlias').map(({ attributes }) => ({
        name:
          attributes['wholeName'] ||
          joined(attributes['firstName'], attributes['middleName'], attributes['lastName']),
        weak: attributes['strong'] === 'false',
      })),
      programme: attributesOf(childrenOf(record, 'regulation'), 'programme').join(' '),
      countries: attributesOf(
        [...childrenOf(record, 'citizenship'), ...childrenOf(record, 'address')],
        'countryIso2Code',
      ),
    };
  },
};

/** The UN Security Council's consolidated list. */
const UN: XmlListFormat = {
  source: 'un',
  root: 'CONSOLIDATED_LIST',
  records: new Set(['INDIVIDUAL', 'ENTITY']),
  publishedOn: (element) =>
    element.name === 'CONSOLIDATED_LIST' ? (element.attributes['dateGenerated'] ?? null) : null,
  entityOf: (record) => {
    if (record.name !== 'INDIVIDUAL' && record.name !== 'ENTITY') return null;
    const aliases = childrenOf(record, `${record.name}_ALIAS`);
    return {
      id: textOf(record, 'DATAID'),
      kind: record.name === 'INDIVIDUAL' ? 'person' : 'organisation',
      names: [
        {
          name: joined(
            ...['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME'].map((part) =>
              textOf(record, part),
            ),
          ),
          weak: false,
        },
        ...aliases.map((alias) => ({
          name: textOf(alias, 'ALIAS_NAME'),
          weak: textOf(alias, 'QUALITY') === 'Low',
        })),
      ],
      programme: textOf(record, 'UN_LIST_TYPE'),
      countries: texts(grandchildrenOf(record, 'NATIONALITY', 'VALUE')),
    };
  },
};

export const XML_LISTS: readonly XmlListFormat[] = [OFAC_SDN, EU, UN];

function kindOf(text: string, kinds: Readonly<Record<string, PartyKind>>): PartyKind {
  return Object.hasOwn(kinds, text) ? kinds[text]! : 'other';
}

function joined(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}

function texts(elements: readonly XmlElement[]): string[] {
  return [...new Set(elements.map((element) => element.text.trim()).filter((text) => text !== ''))];
}

function attributesOf(elements: readonly XmlElement[], name: string): string[] {
  const values = elements.map((element) => element.attributes[name] ?? '');
  return [...new Set(values.filter((value) => value !== ''))];
}
