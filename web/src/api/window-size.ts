/** Number of rows that a list reads at a time. */
export const windowSize = 200;
