/** Ids of requests in the audit log of the API server, by which the event of a door and that of the API server find each other. */
export const auditIDMark = 'atrium-';

/** Returns the header that gives a request its id. The API server takes it from any sender. */
export const auditIDHeader = (id: string) => ({ 'audit-id': `${auditIDMark}${id}` });

/** Returns the id that a door gave to a request; undefined for another request. */
export const doorIDOf = (auditID: string): string | undefined =>
  auditID.startsWith(auditIDMark) ? auditID.slice(auditIDMark.length) : undefined;
