/** The hour in which something began, e.g. `2026-11-20T13:00:00Z`. @param ms epoch milliseconds */
export function hourAt(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 13)}:00:00Z`;
}
