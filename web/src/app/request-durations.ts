/** Durations that the forms of a request offer, in seconds. */
const [minute, hour, day] = [60, 3600, 86_400];
const usual = [5 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour, day, 3 * day, 7 * day];

/** Returns the longest duration. Access by break-glass ends after an hour, even if the policy allows more. */
export const longestDuration = (maxSeconds: number, isBreakGlass: boolean): number =>
  isBreakGlass ? Math.min(maxSeconds, hour) : maxSeconds;

/** Returns the durations to choose from, with the maximum. */
export const durationsUpTo = (max: number): number[] => [...usual.filter((seconds) => seconds < max), max];

/** Returns the chosen duration if it is offered, and otherwise an hour or the maximum. */
export const offeredDuration = (chosen: number, max: number): number =>
  durationsUpTo(max).includes(chosen) ? chosen : Math.min(hour, max);
