/** Fields of the type `datetime-local` have the time of this browser, without seconds; empty means no time. */

/** Converts the local time of a field to the form of the service. Invalid text is returned unchanged, for the service to refuse. */
export function instant(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? local : time.toISOString();
}

/** Converts a time of the service to the local time of a field. Text that is no time becomes an empty field. */
export function localTime(instantText: string | undefined): string {
  if (!instantText) return '';
  const time = new Date(instantText);
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return Number.isNaN(shifted.getTime()) ? '' : shifted.toISOString().slice(0, 16);
}
