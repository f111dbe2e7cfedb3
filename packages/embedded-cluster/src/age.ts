/** Formats an age like kubectl: `45s`, `5m`, `2d3h`. */
function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  const minutes = Math.trunc(seconds / 60);
  const hours = Math.trunc(minutes / 60);
  const days = Math.trunc(hours / 24);
  const years = Math.trunc(days / 365);
  const two = (large: number, largeUnit: string, small: number, smallUnit: string) =>
    `${large}${largeUnit}${small ? `${small}${smallUnit}` : ''}`;
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (years < 2) return `${days}d`;
  if (years < 8) return two(years, 'y', days % 365, 'd');
  return `${years}y`;
}

export function since(time: unknown, now: Date): string {
  const then = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(then) ? '<unknown>' : humanDuration(now.getTime() - then);
}
