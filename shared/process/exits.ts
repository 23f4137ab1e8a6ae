/** EX_CONFIG of sysexits: starting again without mending something is in vain. */
export const EXIT_CONFIG = 78;

/** Exit codes of a shell's convention: 128 and the number of the signal. */
export const EXIT_OF = { SIGINT: 130, SIGTERM: 143 } as const;
