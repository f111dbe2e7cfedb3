/** Events as a file: lines of JSON, or a table for spreadsheets. */
import type { AuditEvent } from '@atrium/audit-store/event.ts';

export interface Writer {
  mediaType: string;
  /** Lines before the first event. */
  head: string;
  line(event: AuditEvent): string;
}

type Cell = string | number | boolean | undefined;

const columns: Readonly<Record<string, (event: AuditEvent) => Cell>> = {
  time: ({ requestReceivedTimestamp }) => requestReceivedTimestamp,
  user: ({ user }) => user?.username,
  groups: ({ user }) => user?.groups?.join(' '),
  impersonatedUser: ({ impersonatedUser }) => impersonatedUser?.username,
  event: ({ event }) => event,
  verb: ({ verb }) => verb,
  action: ({ action }) => action,
  apiGroup: ({ objectRef }) => objectRef.apiGroup,
  resource: ({ objectRef }) => objectRef.resource,
  subresource: ({ objectRef }) => objectRef.subresource,
  namespace: ({ objectRef }) => objectRef.namespace,
  name: ({ objectRef }) => objectRef.name,
  objectUser: ({ objectUser }) => objectUser,
  outcome: ({ outcome }) => outcome,
  code: ({ responseStatus }) => responseStatus?.code,
  reason: ({ reason }) => reason,
  dryRun: ({ dryRun }) => dryRun,
  changes: ({ changes = [] }) =>
    changes.map(({ field, from, to }) => (from === undefined ? `${field}: to ${to}` : `${field}: ${from} to ${to}`)).join(', '),
  stage: ({ stage }) => stage,
  container: ({ connection }) => connection?.container,
  command: ({ connection }) => connection?.command?.join(' '),
  shellUser: ({ shell }) => shell?.user,
  shellPod: ({ shell }) => shell?.pod,
  requester: ({ access }) => access?.requester,
  role: ({ access, grant }) => access?.role ?? grant?.role,
  subjects: ({ grant }) => grant?.subjects.join(' '),
  until: ({ access, grant }) => access?.until ?? grant?.until,
  binding: ({ binding }) => binding,
  question: ({ question }) => question,
  sourceIPs: ({ sourceIPs }) => sourceIPs.join(' '),
  userAgent: ({ userAgent }) => userAgent,
  session: ({ session }) => session,
  accessToken: ({ accessToken }) => accessToken,
  requestID: ({ requestID }) => requestID,
  traceID: ({ traceID }) => traceID,
  source: ({ source }) => source,
  cluster: ({ cluster }) => cluster,
  auditID: ({ auditID }) => auditID,
  requestBytes: ({ requestBytes }) => requestBytes,
  responseBytes: ({ responseBytes }) => responseBytes,
  bytesSent: ({ connection }) => connection?.bytesSent,
  bytesReceived: ({ connection }) => connection?.bytesReceived,
  accessRequests: ({ accessRequests = [] }) => accessRequests.join(' '),
};

/** Characters that end a line, or change how it reads. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/**
 * Begin of a formula, also behind a separator: spreadsheets of some languages split cells at semicolons or tabs, quoted or not.
 *
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
const formula = /(^|[",;|])( *)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** Returns a cell that is one line, and text in every spreadsheet. Lines of JSON have the value as it is. */
const cellOf = (value: Cell): string =>
  `"${String(value ?? '')
    .replaceAll(unsafe, ' ')
    .replaceAll(formula, "$1$2'")
    .replaceAll('"', '""')}"`;

/** Returns a line of RFC 4180. */
const rowOf = (cells: readonly Cell[]): string => `${cells.map(cellOf).join(',')}\r\n`;

export const writers: Readonly<Record<'ndjson' | 'csv', Writer>> = {
  ndjson: { mediaType: 'application/x-ndjson', head: '', line: (event) => `${JSON.stringify(event)}\n` },
  csv: {
    mediaType: 'text/csv; charset=utf-8; header=present',
    head: rowOf(Object.keys(columns)),
    line: (event) => rowOf(Object.values(columns).map((cell) => cell(event))),
  },
};
