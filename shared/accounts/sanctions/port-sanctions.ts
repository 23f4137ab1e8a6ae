import type { ListedEntity, ListedName, ListSource } from './listed.ts';

/** A list as it was imported. */
export interface ImportedList {
  source: ListSource;
  version: string;
  fileName: string;
  publishedOn: string | null;
  entities: number;
  names: number;
  importedBy: string;
  importedAt: number;
  current: boolean;
}

export interface ListUpload {
  source: ListSource;
  version: string;
  fileName: string;
  entities: AsyncIterable<ListedEntity>;
  /** Asked for when the entities have been read. */
  publishedOn: () => string | null;
}

/** The lists, with their versions. */
export interface SanctionsStore {
  /** Stores a list and makes it its source's current one, all or nothing. The current version again changes nothing. */
  import(upload: ListUpload, importedBy: string): Promise<{ list: ImportedList; isNew: boolean }>;
  /** Newest first. */
  lists(): Promise<readonly ImportedList[]>;
  /** Versions of the current lists, in the order of their sources. */
  currentVersions(): Promise<readonly { source: ListSource; version: string }[]>;
  /** All names of these versions. */
  namesOf(versions: readonly { source: ListSource; version: string }[]): Promise<ListedName[]>;
}
