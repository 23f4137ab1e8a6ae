import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A third of the processor's time beside a process of the usual standing, as setpriority(2) counts. */
const NICE = 5;
/** Collecting takes 20 ms; what smaller bodies leave is collected as it always is. */
const COLLECTED_BYTES = 1024 * 1024;

/**
 * Has a thread give way to what serves others: what grows with one caller's body. Linux takes this for the thread alone;
 * elsewhere it would be for the whole process.
 */
export function giveWay(): void {
  if (process.platform === 'linux') setPriority(NICE);
}

/**
 * Collects what a thread that reads bodies has left. V8 collects when a heap has grown, and would keep the text and the tree of
 * the last body until the next one comes.
 * @returns to be called with the bytes of what was read, when it is done
 */
export function collector(): (bytes: number) => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return (bytes) => {
    if (bytes > COLLECTED_BYTES) collect();
  };
}
