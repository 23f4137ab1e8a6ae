/**
 * Tells the launcher, over the channel that it holds to every process it starts, that this process listens. It asks
 * /readyz from then on. Without a launcher there is no channel, and nothing happens.
 */
export function tellLauncher(listening: { metricsPort?: number }): void {
  // A launcher that has gone in this moment is noticed by the channel's end, not here.
  if (process.connected) process.send?.({ listening }, undefined, {}, () => {});
}
