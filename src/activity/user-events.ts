import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { wordsOf } from '@atrium/audit-store/further-values.ts';
import type { AuditFilter } from '@atrium/audit-store/store.ts';
import type { Caller } from '@atrium/http/caller.ts';

/** Facts by which events are those of a user. */
export interface UserTraces {
  /** Names in Kubernetes: that of the user, and those of linked accounts. */
  names: readonly string[];
  /** Secret with the password. */
  secret: { namespace: string; name: string };
  /** Time of the record, in milliseconds since the epoch: a deleted user may have had its name and theirs before. */
  since: number;
}

/**
 * Returns conditions for what a user did, and for what was done to the user, for the user, or to the user's record. An unknown record has
 * the events about itself alone.
 */
export const eventsOf = (record: string, traces: UserTraces | undefined): NonNullable<AuditFilter['anyOf']> => [
  { involvedRecord: record },
  ...(traces ? [...traces.names.map(involving), { apiGroup: '', resource: 'secrets', ...traces.secret }] : []),
];

/** The index has no other entry for names without letters and digits. */
const involving = (name: string) => (wordsOf(name).length > 0 ? { involvedUser: name } : { actor: name });

/** Returns conditions for what a user did, and for what was done to the user's record, access or name. */
export const ownEvents = ({ identity: { name: user }, user: record }: Caller): NonNullable<AuditFilter['anyOf']> => [
  { actor: user },
  { requester: user },
  { verb: 'impersonate', apiGroup: 'auth.platform.io', resource: 'users', name: user },
  ...(record === undefined ? [] : [{ apiGroup: 'auth.platform.io', resource: 'users', name: record }]),
];

/** Returns an event for the user whom it is about: without the address, the client, the groups and the session of the one who did it. */
export function shownToObject(event: AuditEvent, { identity }: Caller): AuditEvent {
  if (event.user === undefined || event.user.username === identity.name) return event;
  const { groups: _groups, ...user } = event.user;
  const {
    userAgent: _client,
    session: _session,
    accessToken: _token,
    requestID: _request,
    traceID: _trace,
    annotations: _right,
    accessRequests: _requests,
    requestObject: _body,
    ...shown
  } = event;
  return { ...shown, user, sourceIPs: [] };
}
