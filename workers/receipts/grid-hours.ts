import type { GridHours } from '#shared/methodology/postgres/grid-hours.ts';

/** Hours come once in a while; what is issued until they are seen is revised. */
const READ_MS = 30_000;

/** The hourly factors that this process knows. Without the database the last ones stay. */
export function keepGridHours(read: () => Promise<GridHours>, onError: (error: unknown) => void) {
  let hours: GridHours = () => undefined;
  const look = async (): Promise<void> => {
    try {
      hours = await read();
    } catch (error) {
      onError(error);
    }
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    async start(): Promise<void> {
      timer = setInterval(() => void look(), READ_MS);
      timer.unref();
      await look();
    },
    current: (): GridHours => hours,
    stop: (): void => clearInterval(timer),
  };
}
