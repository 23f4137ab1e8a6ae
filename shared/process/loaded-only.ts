let loadedOnly = false;

/** From now on the main files that this process imports run nothing: they are there to be compiled. */
export function loadOnly(): void {
  loadedOnly = true;
}

/** Whether a main file is to run nothing. Who starts it, or imports it to run in place of itself, does not say so. */
export function isLoadedOnly(): boolean {
  return loadedOnly;
}
