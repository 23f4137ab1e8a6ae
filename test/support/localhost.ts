import { networkInterfaces } from 'node:os';

/** Whether `localhost` is this machine by both families. */
export const HAS_IPV6 = Object.values(networkInterfaces())
  .flat()
  .some((address) => address?.address === '::1');
