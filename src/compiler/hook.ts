/** The export of an isolated route that is called once, behind the warm-up and right before the snapshot. */
export const HOOK = 'beforeSnapshot'
