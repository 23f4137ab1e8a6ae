/** How long a finished pack is given again to who asks for the same, in seconds; later it is built anew. */
export const GIVEN_AGAIN_S = 3_600;
/** How long an export that is over is shown, in seconds; then only the audit log tells of it. */
export const EXPORT_SHOWN_S = 90 * 86_400;
