/** Fields of the type `datetime-local` hold the time of this browser, without seconds; empty is without a time. */

/** The local time of a field, as the service takes it; what is no time stays, to be refused. */
export function instant(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? local : time.toISOString();
}

/** The other way round. */
export function localTime(instantText: string | undefined): string {
  if (!instantText) return '';
  const time = new Date(instantText);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
