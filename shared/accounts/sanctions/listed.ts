/** Where a list comes from. */
export type ListSource = 'ofac_sdn' | 'eu' | 'un' | 'opensanctions';

export type PartyKind = 'person' | 'organisation' | 'other';

/** A party as a list names it. */
export interface ListedEntity {
  /** The list's own id of the party. */
  id: string;
  kind: PartyKind;
  /** All its names; weak ones are those that the list itself calls so. */
  names: readonly { name: string; weak: boolean }[];
  programme: string;
  countries: readonly string[];
}

/** One name of a listed party: what a query is compared with. */
export interface ListedName {
  source: ListSource;
  entityId: string;
  name: string;
  kind: PartyKind;
  weak: boolean;
  programme: string;
}
