/** Ages as kubectl prints them and durations of Go, read as seconds. */

const seconds: Readonly<Record<string, number>> = {
  ...{ y: 365 * 86_400, w: 7 * 86_400, d: 86_400, h: 3600, m: 60, s: 1 },
  ...{ ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 },
};
const duration = /^-?(?:\d+(?:\.\d+)?(?:ms|us|µs|ns|[ywdhms]))+$/;

/** Parses an age as kubectl prints it, or a Go duration: `2y10d`, `1h0m0s`, `300ms`. */
export function secondsIn(text: string): number | undefined {
  if (!duration.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|us|µs|ns|[ywdhms])/gy)];
  const sum = parts.reduce((total, [, number, unit = '']) => total + Number(number) * (seconds[unit] ?? 0), 0);
  return text.startsWith('-') ? -sum : sum;
}
