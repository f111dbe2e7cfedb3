/** Headers of a request that views the cluster as another user (docs/contract/view-as.md). */
import type { IncomingMessage } from 'node:http';
import { badRequest, type StatusError } from '@atrium/objects/status.ts';
import type { ViewTarget } from './caller.ts';
import { headerValues } from './middleware/request-head.ts';

/** Names for `Vary` and CORS. Scripts of pages send groups as JSON, because browsers join repeated header lines. */
export const viewHeaders = ['Impersonate-User', 'Impersonate-Group', 'Impersonate-Uid', 'Atrium-View-As-Groups'] as const;
/** Header of a write: repeats the user, so that no write as another user happens by mistake. */
export const viewWriteHeader = 'Atrium-View-As-Write';

const [userHeader, groupHeader, uidHeader, groupsHeader] = viewHeaders;
const known = new Set(viewHeaders.map((name) => name.toLowerCase()));
const writeName = viewWriteHeader.toLowerCase();
const groupsName = groupsHeader.toLowerCase();
const maxGroups = 64;
/** Printable ASCII: everything between this service and the API server reads the same bytes. */
const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

const isViewHeader = (name: string): boolean => name.startsWith('impersonate-') || name === writeName || name === groupsName;

/** Reports whether a request has a header of a view, well-formed or not. */
export function hasViewHeaders({ headers }: IncomingMessage): boolean {
  for (const name in headers) if (isViewHeader(name)) return true;
  return false;
}

/** Returns the refusal for headers of a view where there is none: the caller would act as themself without knowing. */
export const viewHeadersRefused = (): StatusError => notSupported('Impersonate-* headers are not supported here: you act as yourself');

const notSupported = (message: string, field?: string) =>
  badRequest(message, [{ reason: 'ImpersonationNotSupported', message, ...(field && { field }) }]);

const invalidHeader = (field: string, rule: string) => {
  const message = `${field}: ${rule}`;
  return badRequest(message, [{ reason: 'FieldValueInvalid', message, field }]);
};

/**
 * Returns the user that the headers name, undefined without such a header. Reads the lines as they came: `headers` joins repeated ones, and
 * the API server takes the first of two users.
 *
 * @throws StatusError 400
 */
export function viewTargetOf(request: IncomingMessage): ViewTarget | undefined {
  if (!hasViewHeaders(request)) return undefined;
  const other = Object.keys(request.headers).find((name) => name.startsWith('impersonate-') && !known.has(name));
  if (other !== undefined) throw notSupported(`${other} is not supported: only ${viewHeaders.join(', ')} are`, other);
  const name = oneOf(request, userHeader);
  if (name === undefined) throw invalidHeader(userHeader, 'must name the user, because another header of a view is there');
  const groups = [...headerValues(request, groupHeader.toLowerCase()), ...groupsIn(oneOf(request, groupsHeader))];
  if (groups.length > maxGroups) throw invalidHeader(groupHeader, `must be at most ${maxGroups} groups`);
  for (const group of groups) checkPlain(groupHeader, group);
  return { name, uid: oneOf(request, uidHeader) ?? '', groups };
}

/** @param json undefined without the header. @throws StatusError 400 */
function groupsIn(json: string | undefined): string[] {
  if (json === undefined) return [];
  try {
    const groups: unknown = JSON.parse(json);
    if (Array.isArray(groups) && groups.every((group) => typeof group === 'string')) return groups;
  } catch {
    // Refused below.
  }
  throw invalidHeader(groupsHeader, 'must be a JSON array of names');
}

/** Returns the user that a write must name, undefined without the header. @throws StatusError 400 */
export const viewWriteOf = (request: IncomingMessage): string | undefined => oneOf(request, viewWriteHeader);

/** @throws StatusError 400 for two lines, or one that is not plain */
function oneOf(request: IncomingMessage, header: string): string | undefined {
  const [value, second] = headerValues(request, header.toLowerCase());
  if (second !== undefined) throw invalidHeader(header, 'must be there once');
  if (value !== undefined) checkPlain(header, value);
  return value;
}

function checkPlain(header: string, value: string): void {
  if (!plain.test(value)) throw invalidHeader(header, 'must be printable ASCII, and not empty');
}
