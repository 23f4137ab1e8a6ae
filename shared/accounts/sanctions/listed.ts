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

/** Which edition of a list: hex SHA-256 of its file. */
export interface ListVersion {
  source: ListSource;
  version: string;
}

/** A list as it was imported. */
export interface ImportedList extends ListVersion {
  fileName: string;
  publishedOn: string | null;
  entities: number;
  names: number;
  importedBy: string;
  /** Epoch milliseconds. */
  importedAt: number;
  current: boolean;
}

/** A list that is being read. */
export interface ListUpload extends ListVersion {
  fileName: string;
  entities: AsyncIterable<ListedEntity>;
  /** What the list says of its date; asked for when the entities have been read. */
  publishedOn: () => string | null;
}
